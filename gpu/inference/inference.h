#pragma once
// Inference alone: images go to the device in batches, through the network and back as answers, and how long each part
// takes. Weights, plan and buffers are made once.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/inference/answer.h"
#include "gpu/inference/image_source.h"
#include "gpu/models/model.h"
#include "gpu/plan/plan.h"

namespace warpscope::inference {

/// Microseconds of a batch over all that were measured.
struct Latency {
  double median = 0;
  double p99 = 0;  ///< 99 of a hundred batches take no longer
};

/// Quantiles by linear interpolation between the sorted times. Zeros for none.
Latency latency_of(std::vector<double> microseconds);

struct LayerLatency {
  std::string layer;   ///< or the op, of one that is of no layer: "batch.gather"
  std::string inside;  ///< the layer whose call computes all of this one, whose own times are zeros; else ""
  Latency time;
};

/// What came of it.
struct Outcome {
  std::vector<Answer> answers;  ///< in the order of the images
  std::vector<std::string> refused;
  bool interrupted = false;  ///< before the last image
  int batch = 0;
  std::int64_t batches = 0;
  double seconds = 0;       ///< from reading the first image to the last answer
  double read_seconds = 0;  ///< of these, reading and decoding
  /// Of each batch: reading and decoding on the host; copies of the pixels to the device; the network, launched as
  /// one graph; copies of its output back; all of these, as the host sees it.
  Latency read, to_device, network, back, total;
  std::vector<LayerLatency> layers;  ///< in the order they run
  std::optional<double> accuracy;    ///< where labels are known and the network classifies
  std::optional<double> mse, psnr;   ///< means over the images, of a network that reconstructs

  double images_per_second() const;
  /// Without reading and decoding.
  double device_images_per_second() const;
};

class Inference {
 public:
  /// `parameters`: models::ParameterLayout of `model`, in host memory. A model that classifies runs up to its
  /// logits, one that reconstructs up to the error of each image. The calling thread has made `device` its current
  /// one; `stream` outlives this. Throws core::BadInput and core::OutOfMemory as plan::Plan does.
  Inference(const models::Model& model, std::span<const float> parameters, const plan::Selection& selection,
            int batch, std::shared_ptr<core::Device> device, core::Stream& stream);

  /// Called before each batch with the number of answers there are; false ends it.
  using GoOn = std::function<bool(std::int64_t answers)>;

  /// Asks about every image, one batch after the other. A first pass over zeros is not measured. A last batch that
  /// is not full is filled with what came before, of which nothing is told. Layers are measured by passes of their
  /// own over the first kLayerPasses batches, since events between them cost time; those count nowhere else. Throws
  /// core::BadInput if no image can be read.
  Outcome run(ImageSource& source, const GoOn& go_on = {});

  static constexpr int kLayerPasses = 100;

 private:
  struct Samples {
    std::vector<double> read, to_device, network, back, total;
    std::vector<std::vector<double>> layers;
  };
  bool classifies() const { return model_.loss == models::Loss::cross_entropy; }
  void group_layers();
  /// Brings `count` images to the device, runs them and brings the output back; waits for it.
  void pass(int count);
  void take_times(Samples& samples) const;
  void time_layers(Samples& samples);
  /// Makes answers of the output.
  void answer(std::vector<ImageName> images, Outcome& outcome) const;
  void summarize(Samples samples, Outcome& outcome) const;

  models::Model model_;
  std::shared_ptr<core::Device> device_;
  core::Stream& stream_;
  core::Buffer weights_, images_, order_, control_;
  std::unique_ptr<plan::Plan> plan_;
  plan::WrittenTensor output_;         ///< a row an image: logits, or its error
  std::vector<LayerLatency> layers_;   ///< without times
  std::vector<std::size_t> layer_of_;  ///< of each node of the plan: index into `layers_`
  core::HostBuffer pixels_, answers_;
  std::unique_ptr<core::Event> begin_, copied_, run_, done_;
};

}  // namespace warpscope::inference
