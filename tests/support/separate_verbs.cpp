#include <adverb/impl/src.hpp>
