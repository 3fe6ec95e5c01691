#include <adverb/cm/impl/src.hpp>
