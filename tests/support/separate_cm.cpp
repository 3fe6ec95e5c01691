#include <adverb/async/impl/src.hpp>
#include <adverb/cm/impl/src.hpp>
#include <adverb/messages/impl/src.hpp>
#include <adverb/remote/impl/src.hpp>
