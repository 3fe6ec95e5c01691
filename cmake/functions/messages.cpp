#include <adverb/messages/impl/src.hpp>
