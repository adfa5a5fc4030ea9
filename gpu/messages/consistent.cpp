#include "gpu/messages/consistent.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "gpu/core/error.h"
#include "gpu/data/dataset.h"
#include "gpu/ops/shape_sizes.h"

namespace warpscope {
namespace {

/// The bounds are rounded as the value was: 0.99 as a float is more than 0.99.
template <class T>
bool lies_in(T value, double least, double most) {
  return value >= static_cast<T>(least) && value <= static_cast<T>(most);
}

}  // namespace
}  // namespace warpscope

namespace warpscope::ops {

std::string_view inconsistency_in(const OpShape& s) {
  bool fits = true;
  visit_sizes(s, [&](const char* /*name*/, auto size) { fits = fits && size >= 0; });
  visit_parameters(s, [&](Parameter parameter, const auto& field, auto) {
    const ParameterRow& row = row_of(parameter);
    fits = fits && lies_in(field, row.least, row.most);
  });
  return fits ? "" : "the shape of an op is impossible";
}

}  // namespace warpscope::ops

namespace warpscope::data {

std::string_view inconsistency_in(const ImageSet& set) {
  const auto count = static_cast<std::size_t>(set.count);
  const bool fits = training::fills(set.pixels.size(), {set.count, set.height, set.width, set.channels}) &&
                    (set.labels.empty() || set.labels.size() == count) &&
                    (set.texts.empty() || set.texts.size() == count);
  return fits ? "" : "images have another size than they say";
}

std::string_view inconsistency_in(const OwnImages& images) {
  return std::cmp_equal(images.names.size(), images.set.count) ? ""
                                                               : "there are not as many names as pictures";
}

}  // namespace warpscope::data

namespace warpscope::training {
namespace {

std::int64_t number(std::size_t size) {
  return static_cast<std::int64_t>(size);
}

bool all_below(const std::vector<std::uint8_t>& labels, int classes) {
  return std::all_of(labels.begin(), labels.end(), [classes](std::uint8_t label) { return label < classes; });
}

/// What check_model() goes by: files and forms hold nothing else.
bool is_in_range(const models::Layer& layer) {
  const std::vector<models::LayerField>& fields = models::row_of(layer.kind).fields;
  return std::all_of(fields.begin(), fields.end(), [&](const models::LayerField& field) {
    if (field.number != nullptr) return lies_in(layer.*field.number, field.least, field.most);
    return field.real == nullptr || lies_in(layer.*field.real, field.least, field.most);
  });
}

}  // namespace

bool can_be(const models::Model& network) {
  if (!std::all_of(network.layers.begin(), network.layers.end(), is_in_range)) return false;
  try {
    models::check_model(network);
    return true;
  } catch (const core::BadInput&) {
    return false;
  }
}

std::optional<std::size_t> values_in(std::initializer_list<std::int64_t> sides) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  std::int64_t product = 1;
  for (const std::int64_t side : sides) {
    if (side < 0 || side > kMost || product > kMost) return std::nullopt;
    product *= side;
  }
  if (product > kMost) return std::nullopt;
  return static_cast<std::size_t>(product);
}

bool fills(std::size_t size, std::initializer_list<std::int64_t> sides) {
  return values_in(sides) == size;
}

std::string_view inconsistency_in(const Evaluation& e) {
  const auto most = static_cast<int>(data::kMostClasses);
  if (e.classes < 0 || e.classes > most || !fills(e.confusion.size(), {e.classes, e.classes}))
    return "the confusion matrix is no table of all classes by all classes";
  const std::size_t images = e.image_losses.size();
  if (!e.predicted.empty() && e.predicted.size() != images)
    return "there are not as many predictions as losses";
  if (!all_below(e.predicted, e.classes)) return "a class is predicted that does not exist";
  if (!e.positions.empty() && e.positions.size() != images) return "there are not as many places as losses";
  const auto turn = std::adjacent_find(e.positions.begin(), e.positions.end(), std::greater_equal<>());
  return turn == e.positions.end() ? "" : "the places of images do not rise";
}

std::string_view inconsistency_in(const ImageFacts& facts) {
  const bool fits = std::min({facts.height, facts.width, facts.channels}) >= 0 && facts.count >= 0 &&
                    (facts.labels.empty() || std::cmp_equal(facts.labels.size(), facts.count));
  return fits ? "" : "there are not as many labels as images";
}

/// Panels count the images of a set by their labels and the classes of its evaluation.
std::string_view inconsistency_in(const Snapshot& snapshot) {
  if (snapshot.network && !can_be(*snapshot.network)) return "the network is impossible";
  if (!snapshot.evaluation || !snapshot.data || snapshot.evaluation->classes == 0) return "";
  const Evaluation& evaluation = *snapshot.evaluation;
  const DataView& data = *snapshot.data;
  const ImageFacts& judged = evaluation.split == Split::validation ? data.validation : data.test;
  return all_below(judged.labels, evaluation.classes) ? "" : "an image has a class that does not exist";
}

std::string_view inconsistency_in(const LayerOutput& output) {
  const bool fits = fills(output.values.size(), {output.height, output.width, output.channels});
  return fits ? "" : "the output of a layer has another size than it says";
}

std::string_view inconsistency_in(const Inspection& inspection) {
  return !inspection.has_gradients() || inspection.gradients.size() == inspection.parameters.size()
             ? ""
             : "there are not as many gradients as parameters";
}

std::string_view inconsistency_in(const LatentMap& map) {
  const std::int64_t count = number(map.count), rank = number(map.rank);
  if (!map.problem.empty())
    return count == 0 && rank == 0 ? "" : "there is a map and a reason why there is none";
  const models::Extent& extent = map.latent.extent;
  const std::optional<std::size_t> size = values_in({extent.height, extent.width, extent.channels});
  if (!size) return "the size of the latents is impossible";
  const std::int64_t elements = number(*size);
  const bool whole = fills(map.values.size(), {count, elements}) && fills(map.mean.size(), {elements}) &&
                     fills(map.components.size(), {rank, elements});
  const bool places = map.values.empty() && map.mean.empty() && map.components.empty();  // places_of()
  const bool fits = (whole || places) && fills(map.scores.size(), {count, rank}) &&
                    fills(map.sigmas.size(), {rank}) && fills(map.shares.size(), {rank});
  return fits ? "" : "the map of the latents has another size than it says";
}

std::string_view inconsistency_in(const KeptView& view) {
  const bool there = std::visit([](const auto& one) { return one != nullptr; }, view.seen);
  return there ? "" : "a view of an earlier step is missing";
}

std::string_view inconsistency_in(const LatentPictures& p) {
  const bool fits = fills(p.pixels.size(), {number(p.recipes.size()), p.height, p.width, p.channels}) &&
                    p.places.size() == p.recipes.size();
  return fits ? "" : "there are not as many pictures of latents as recipes";
}

std::string_view inconsistency_in(const ComparisonRequest& request) {
  return request.count >= 0 ? "" : "a negative number of images is to be compared";
}

std::string_view inconsistency_in(const Comparison& comparison) {
  if (comparison.reconstructions.size() != comparison.request.reconstructors.size())
    return "not each network has made its pictures";
  const ImageShape& s = comparison.shape;
  const auto whole = [&](const std::vector<float>& values) {
    return values.empty() || fills(values.size(), {s.count, s.height, s.width, s.channels});
  };
  const bool fits = values_in({s.count, s.height, s.width, s.channels}) && whole(comparison.original) &&
                    std::all_of(comparison.reconstructions.begin(), comparison.reconstructions.end(),
                                [&](const Reconstruction& each) {
                                  return whole(each.values) &&
                                         (each.errors.empty() || fills(each.errors.size(), {s.count}));
                                });
  return fits ? "" : "pictures have another size than they say";
}

std::string_view inconsistency_in(const Distributions& distributions) {
  const auto& moments = distributions.moments;
  if (std::any_of(moments.begin(), moments.end(), std::logical_not<>())) return "a moment is missing";
  const bool rise = std::is_sorted(moments.begin(), moments.end(),
                                   [](const auto& a, const auto& b) { return a->step < b->step; });
  return rise ? "" : "the steps of moments do not rise";
}

std::string_view inconsistency_in(const ChannelActivations& a) {
  const bool fits =
      fills(a.means.size(), {number(a.images), number(a.channels)}) && a.maxima.size() == a.means.size();
  return fits ? "" : "there are not as many activations as images and channels";
}

std::string_view inconsistency_in(const TextAttribution& text) {
  if (text.target < 0 || std::cmp_greater_equal(text.target, text.scores.size()))
    return "a text is explained by a class that does not exist";
  return text.known.size() == text.shares.size() ? "" : "there are not as many shares as characters";
}

std::string_view inconsistency_in(const ShownImages& images) {
  const ImageShape& s = images.shape;
  const bool fits = fills(images.original.size(), {s.count, s.height, s.width, s.channels}) &&
                    images.reconstruction.size() == images.original.size() &&
                    fills(images.errors.size(), {s.count});
  return fits ? "" : "pictures have another size than they say";
}

std::string_view inconsistency_in(const UserKernel& kernel) {
  const auto& versions = kernel.versions;
  if (std::any_of(versions.begin(), versions.end(), std::logical_not<>()))
    return "a version of a kernel is missing";
  const auto turn = std::adjacent_find(versions.begin(), versions.end(),
                                       [](const auto& a, const auto& b) { return a->number >= b->number; });
  return turn == versions.end() ? "" : "the versions of a kernel do not rise";
}

}  // namespace warpscope::training
