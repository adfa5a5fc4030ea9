// Engine: the head on the latents, which comes and goes with the joint objective.

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/engine/engine.h"
#include "gpu/engine/head.h"
#include "gpu/models/parameters.h"

namespace warpscope::training {
namespace {

bool labelled(const data::DataSet& data) {
  const auto whole = [](const data::ImageSet& set) { return std::cmp_equal(set.labels.size(), set.count); };
  return data.classes.size() > 1 && whole(data.train) && whole(data.validation) && whole(data.test);
}

/// As load_parameters() reads them; of a file that does not fit it says what else can be done.
std::vector<float> whole_parameters(const std::string& file, const models::Model& model,
                                    std::string& notice) {
  try {
    return models::load_parameters(file, model, &notice);
  } catch (const models::BadFit& error) {
    throw core::BadInput(fmt::format("{}; --init-partly takes the layers that fit", error.what()));
  }
}

}  // namespace

int head_classes_of(const data::DataSet& data) {
  if (labelled(data)) return static_cast<int>(data.classes.size());
  throw core::BadInput(
      fmt::format("{} has no labels, which a head on the latents learns; leave joint at 0", data.name));
}

bool can_have_head(const models::Model& model, const data::DataSet& data) {
  return model.loss == models::Loss::mse && labelled(data);
}

bool Engine::needs_labels(const models::Model& model) {
  return model.loss == models::Loss::cross_entropy || model.head_classes > 0;
}

/// Elements of the buffers of parameters. Those who hold their addresses need not know when a head comes.
std::size_t Engine::room(const models::Model& model) const {
  const bool with_head = can_have_head(model, *data_);
  return models::parameter_layout(with_head ? models::with_head(model, head_classes_of(*data_)) : model)
      .elements;
}

/// From the file, or the seed; what a file without a head lacks is from the seed too.
std::vector<float> Engine::first_parameters() {
  const std::string& file = options_.init_file;
  const auto seeded = [this] { return models::initial_parameters(options_.model, options_.seed); };
  if (file.empty()) return seeded();
  std::vector<float> values;
  if (options_.init_partly) {
    values = seeded();
    seeded_ = models::take_fitting_parameters(file, options_.model, values, &init_notice_);
  } else {
    models::Model held = options_.model;
    if (models::head_classes_in(files::SafetensorsFile(file).entries()) == 0) held.head_classes = 0;
    values = whole_parameters(file, held, init_notice_);
    if (values.size() < layout_.elements) {
      const std::vector<float> fresh = seeded();
      values.insert(values.end(), fresh.begin() + static_cast<std::ptrdiff_t>(values.size()), fresh.end());
    }
  }
  const std::string found = models::not_finite_in(options_.model, values);
  if (found.empty()) return values;
  throw core::BadInput(fmt::format("the initial weights hold {} ({}); start from others", found, file));
}

/// Brings or takes away the head. Plans are built beside those in use; if that fails nothing has changed.
void Engine::set_head(bool wanted) {
  models::Model other = models::with_head(options_.model, wanted ? head_classes_of(*data_) : 0);
  models::check_model(other);
  if (wanted && train_labels_.bytes() == 0) upload_labels();
  stream_->synchronize();
  std::swap(options_.model, other);
  try {
    check_images(options_.model);
    install(build(options_.selection, options_.batch));
  } catch (...) {
    std::swap(options_.model, other);
    throw;
  }
  const auto body = static_cast<std::ptrdiff_t>(initial_.size());
  layout_ = models::parameter_layout(options_.model);
  initial_.resize(layout_.elements);
  if (wanted) {
    const std::vector<float> seeded = models::initial_parameters(options_.model, options_.seed);
    std::copy(seeded.begin() + body, seeded.end(), initial_.begin() + body);
    clear_head_room();
    const std::size_t bytes = static_cast<std::size_t>(body) * sizeof(float);
    stream_->copy(parameters_.as<std::byte>() + bytes, initial_.data() + body,
                  layout_.elements * sizeof(float) - bytes);
    stream_->synchronize();
  }
  forget();
  evaluation_enqueued_ = 0;  // a running evaluation starts again
  interrupted_ = control_stale_ = true;
}

/// No step has made a gradient or state of what lies behind the layers' parameters.
void Engine::clear_head_room() {
  const std::size_t bytes = models::parameter_layout(bare_model_).elements * sizeof(float);
  for (const core::Buffer* buffer : {&gradients_, &states_[0], &states_[1]}) {
    if (buffer->bytes() > bytes) stream_->fill(buffer->as<std::byte>() + bytes, 0, buffer->bytes() - bytes);
  }
}

}  // namespace warpscope::training
