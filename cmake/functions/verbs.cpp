#include <adverb/impl/src.hpp>
#include <adverb/pool/impl/src.hpp>
