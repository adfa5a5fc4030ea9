#pragma once
// What readers of a message rely on beside its form: that members that count others count them. MessageReader asks of
// each object that it has read, and who reads snapshots from files asks too. "" if nothing is wrong, else what, as the
// end of a sentence.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "gpu/messages/image_exchange.h"
#include "gpu/messages/observations.h"
#include "gpu/messages/snapshot.h"

namespace warpscope::ops {
std::string_view inconsistency_in(const OpShape& shape);
}  // namespace warpscope::ops

namespace warpscope::data {
std::string_view inconsistency_in(const ImageSet& set);
std::string_view inconsistency_in(const OwnImages& images);
}  // namespace warpscope::data

namespace warpscope::training {

/// False of a network that no file or form can make.
bool can_be(const models::Model& network);

/// How many values there are in an array of these sides; nothing if one is negative or no message could hold them.
std::optional<std::size_t> values_in(std::initializer_list<std::int64_t> sides);
/// True if there are `size`.
bool fills(std::size_t size, std::initializer_list<std::int64_t> sides);

std::string_view inconsistency_in(const Evaluation& evaluation);
std::string_view inconsistency_in(const ImageFacts& facts);
std::string_view inconsistency_in(const Snapshot& snapshot);
std::string_view inconsistency_in(const LayerOutput& output);
std::string_view inconsistency_in(const Inspection& inspection);
std::string_view inconsistency_in(const LatentMap& map);
std::string_view inconsistency_in(const KeptView& view);
std::string_view inconsistency_in(const LatentPictures& pictures);
std::string_view inconsistency_in(const ComparisonRequest& request);
std::string_view inconsistency_in(const Comparison& comparison);
std::string_view inconsistency_in(const Distributions& distributions);
std::string_view inconsistency_in(const ChannelActivations& activations);
std::string_view inconsistency_in(const TextAttribution& text);
std::string_view inconsistency_in(const ShownImages& images);
std::string_view inconsistency_in(const UserKernel& kernel);

}  // namespace warpscope::training
