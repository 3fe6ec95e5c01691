#include <adverb/async/impl/src.hpp>
