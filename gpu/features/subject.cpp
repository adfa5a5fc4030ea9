#include "gpu/features/subject.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "gpu/core/device.h"
#include "gpu/core/error.h"
#include "gpu/data/known_data.h"
#include "gpu/plan/selection.h"
#include "gpu/runs/trained_network.h"
#include "gpu/settings/configuration.h"

namespace warpscope::features {
namespace {

/// N of "step-N".
std::uint64_t step_of(const std::string& name) {
  const std::size_t digits = name.find_first_of("0123456789");
  std::uint64_t step = 0;
  if (digits != std::string::npos) std::from_chars(name.data() + digits, name.data() + name.size(), step);
  return step;
}

}  // namespace

Subject loaded(const Subject& subject) {
  if (subject.run.empty()) return subject;
  Subject found;
  runs::TrainedNetwork network = runs::load_trained_network(subject.run, subject.checkpoint);
  const auto device = core::open_device(subject.device);
  const auto able = plan::training_precisions(device->info());
  auto& precision = network.settings.precision;
  if (precision && std::ranges::find(able, *precision) == able.end()) precision.reset();
  training::complete(network.settings, device->info());
  found.device = subject.device;
  found.model = network.settings.model;
  found.precision = *precision;
  found.step = step_of(network.weights.stem().string());
  found.parameters = std::make_shared<const std::vector<float>>(std::move(network.parameters));
  const models::Model& model = found.model;
  data::FoundData data = data::find_data(
      network.settings.data, network.data,
      {{model.height, model.width, model.channels}, model.classes, model.name, model.alphabet});
  if (!data.same) throw core::BadInput(data::told_as_other(data.set));
  found.data = training::view_of(std::make_shared<data::DataSet>(std::move(data.set)));
  return found;
}

Sample sample_of(const data::ImageSet& set, std::int64_t most) {
  const std::int64_t count = most > 0 ? std::min(most, set.count) : set.count;
  Sample sample;
  for (std::int64_t i = 0; i < count; ++i) sample.places.push_back(i * set.count / count);
  if (count == set.count) {
    sample.set = set;
    return sample;
  }
  sample.set = {set.height, set.width, set.channels, count, {}, {}, {}};
  const std::int64_t bytes = set.image_bytes();
  for (const std::int64_t place : sample.places) {
    const auto image = set.pixels.begin() + place * bytes;
    sample.set.pixels.insert(sample.set.pixels.end(), image, image + bytes);
    sample.set.labels.push_back(set.labels[static_cast<std::size_t>(place)]);
    if (!set.texts.empty()) sample.set.texts.push_back(set.texts[static_cast<std::size_t>(place)]);
  }
  return sample;
}

data::ImageSet first_of(const data::ImageSet& set, std::int64_t most) {
  const std::int64_t count = std::min(most, set.count);
  const auto labels = std::min(static_cast<std::size_t>(count), set.labels.size());
  const auto texts = std::min(static_cast<std::size_t>(count), set.texts.size());
  return {set.height,
          set.width,
          set.channels,
          count,
          {set.pixels.begin(), set.pixels.begin() + count * set.image_bytes()},
          {set.labels.begin(), set.labels.begin() + static_cast<std::ptrdiff_t>(labels)},
          {set.texts.begin(), set.texts.begin() + static_cast<std::ptrdiff_t>(texts)}};
}

}  // namespace warpscope::features
