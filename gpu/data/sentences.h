#pragma once
// The built-in texts: short sentences, so that a network that takes texts trains on a machine that has no data at all.

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/data/dataset.h"
#include "gpu/data/requirements.h"

namespace warpscope::data {

/// What the sentences are about, in the order of their labels: weather, kitchen, sport, travel.
std::vector<std::string> sentence_classes();

/// Sentence `index` about `topic`, an index into sentence_classes(): who does what to what, when or where, from words
/// of the topic, sometimes with a slip of the pen. It depends on these three alone, the same on every machine.
std::string sentence(std::uint64_t seed, std::int64_t index, int topic);

/// `train` and `test` sentences as the model takes texts; its first topics if it tells fewer than four apart. As many
/// sentences as there are topics hold each once, in random order. A smaller set is the beginning of a larger one.
/// Throws BadInput if a count is negative or above 1,000,000, or if the model takes no texts.
DataSet make_sentences(const Requirements& model, std::int64_t train = 4'000, std::int64_t test = 800);

}  // namespace warpscope::data
