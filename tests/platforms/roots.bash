# shellcheck shell=bash
# Sourced by the scripts of this folder, behind scripts/messages.sh: minimal roots of releases of Debian.

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  command -v sudo >/dev/null || die "roots are made by root, and sudo is not there"
  as_root=(sudo)
fi

# make_root SUITE [NAME]: makes the root NAME of a release, unless it exists, and sets $root. The first
# call makes it anew if $fresh is set. The name is that of the release if none is given.
made=()
make_root() {
  local name=${2:-$1}
  root=$builds/platforms/$name
  if [[ $fresh && " ${made[*]-} " != *" $name "* ]]; then "${as_root[@]}" rm -rf --one-file-system "$root"; fi
  made+=("$name")
  [[ ! -e $root/complete ]] || return 0
  scripts/install-packages platforms
  local mirror
  # The mirror that apt uses here.
  mirror=$(apt-get indextargets --no-release-info --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' | awk '$2 !~ /security/ && $3 == "main" { print $1; exit }')
  [[ $mirror ]] || die "apt has no source of Debian's packages"
  say "Making a root of $1"
  "${as_root[@]}" rm -rf --one-file-system "$root"
  mkdir -p "$builds/platforms"
  "${as_root[@]}" debootstrap --variant=minbase --include=git,ca-certificates "$1" "$root" "$mirror" >&2
  # A mirror may be older than the lists of the development branch are meant to live.
  echo 'Acquire::Check-Valid-Until "false";' |
    "${as_root[@]}" tee "$root/etc/apt/apt.conf.d/valid-until" >/dev/null
  "${as_root[@]}" touch "$root/complete"
}

# clone_into ROOT: clones what is committed into ROOT/root/adverb, or brings the clone up to date.
clone_into() {
  local git=(git -c safe.directory='*')
  if [[ -e $1/root/adverb ]]; then
    "${as_root[@]}" "${git[@]}" -C "$1/root/adverb" fetch -q "$PWD" HEAD
    "${as_root[@]}" "${git[@]}" -C "$1/root/adverb" checkout -q --detach -f FETCH_HEAD
  else
    "${as_root[@]}" "${git[@]}" clone -q "$PWD" "$1/root/adverb"
  fi
}

# within COMMAND: in $root, in adverb's folder. If $layer is set, what is written goes to that folder, and
# the root stays as it is. All mounts end with the command.
layer=
within() {
  "${as_root[@]}" unshare --mount --propagation private bash -c '
    set -e
    root=$0
    if [[ $2 ]]; then
      mount -t overlay overlay -o "lowerdir=$0,upperdir=$2/upper,workdir=$2/work" "$2/root"
      root=$2/root
    fi
    for folder in proc dev sys; do mount --rbind "/$folder" "$root/$folder"; done
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    exec chroot "$root" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      bash -c "cd /root/adverb && $1"' "$root" "$1" "$layer"
}
