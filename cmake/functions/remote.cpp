#include <adverb/remote/impl/src.hpp>
