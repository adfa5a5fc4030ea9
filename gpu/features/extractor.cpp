#include "gpu/features/extractor.h"

#include <algorithm>
#include <utility>

#include "gpu/features/collect.h"
#include "gpu/models/latent.h"

namespace warpscope::features {
namespace {

using ops::step::StepControl;

constexpr std::int64_t kBatchOnGpu = 1024, kBatchOnCpu = 16;

}  // namespace

DeviceImages::DeviceImages(const data::ImageSet& set, const classifiers::Place& place)
    : count_(set.count),
      pixels_(core::upload(place.device, *place.stream, set.pixels)),
      order_(core::upload(place.device, *place.stream, plan::in_order(set.count))) {}

Extractor::Extractor(const models::Model& model, FeatureLayers layers, const plan::Selection& selection,
                     const DeviceImages& images, const float* parameters, const classifiers::Place& place)
    : layers_(std::move(layers)),
      images_(images),
      place_(place),
      control_(place.device, sizeof(StepControl)) {
  const bool cpu = place.device->kind() == core::DeviceKind::cpu;
  const auto batch = std::min(images.count(), cpu ? kBatchOnCpu : kBatchOnGpu);
  controls_ = core::HostBuffer(
      place.device, static_cast<std::size_t>((images.count() + batch - 1) / batch) * sizeof(StepControl));
  plan::Bindings bindings;
  bindings.images = images.pixels();
  bindings.image_count = images.count();
  bindings.order = images.order();
  bindings.control = control_.as<StepControl>();
  bindings.parameters = const_cast<float*>(parameters);  // encoding writes none
  for (const FeatureLayer& layer : layers_) {
    const auto same = [&](const Encoder& encoder) { return encoder.end == layer.end; };
    if (std::ranges::any_of(encoders_, same)) continue;
    encoders_.push_back(
        {layer.end, std::make_unique<plan::Plan>(models::first_layers(model, layer.end),
                                                 plan::Purpose::encoding, selection, static_cast<int>(batch),
                                                 place.device, *place.stream, bindings)});
  }
}

void Extractor::collect_layer(const plan::Plan& plan, const FeatureLayer& layer, std::int64_t first,
                              std::int64_t first_column, float* rows) const {
  const plan::WrittenTensor output = plan.output(layer.end - 1);
  CollectCall call;
  call.values = output.data;
  call.type = output.type;
  call.count = static_cast<int>(std::min<std::int64_t>(plan.batch(), images_.count() - first));
  call.height = layer.extent.height;
  call.width = layer.extent.width;
  call.channels = layer.extent.channels;
  call.out_height = layer.height();
  call.out_width = layer.width();
  call.maximum = layer.pooling == Pooling::max;
  call.rows = rows;
  call.first_row = first;
  call.row_columns = columns();
  call.first_column = first_column;
  collect(*place_.device, *place_.stream, call);
}

void Extractor::extract(float* rows, const classifiers::Watch& watch) {
  core::Stream& stream = *place_.stream;
  StepControl* control = controls_.as<StepControl>();
  const int batch = encoders_.front().plan->batch();
  for (std::int64_t first = 0; first < images_.count(); first += batch, ++control) {
    if (watch.stop.stop_requested()) throw classifiers::Cancelled();
    *control = StepControl{};
    control->position = static_cast<std::uint32_t>(first);
    stream.copy(control_.data(), control, sizeof(StepControl));
    for (const Encoder& encoder : encoders_) {
      encoder.plan->launch(stream);
      std::int64_t column = 0;
      for (const FeatureLayer& layer : layers_) {
        if (layer.end == encoder.end) collect_layer(*encoder.plan, layer, first, column, rows);
        column += layer.columns();
      }
    }
    if (watch.progress) {
      watch.progress(static_cast<double>(std::min(images_.count(), first + batch)) /
                         static_cast<double>(images_.count()),
                     "features");
    }
  }
  stream.synchronize();  // the control blocks on the host may be written again
}

core::Buffer features_of(const data::ImageSet& set, const models::Model& model,
                         std::span<const float> parameters, const FeatureLayers& layers,
                         const plan::Selection& selection, const classifiers::Place& place,
                         const classifiers::Watch& watch) {
  // The largest piece first: what does not fit is refused before anything is done.
  core::Buffer rows(place.device, static_cast<std::size_t>(set.count) *
                                      static_cast<std::size_t>(columns_of(layers)) * sizeof(float));
  const core::Buffer weights = core::upload(place.device, *place.stream, parameters);
  const DeviceImages images(set, place);
  Extractor(model, layers, selection, images, weights.as<float>(), place).extract(rows.as<float>(), watch);
  return rows;
}

}  // namespace warpscope::features
