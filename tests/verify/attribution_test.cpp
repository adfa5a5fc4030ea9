// Gradients of a class's score by the input, by plans of Purpose::attribution, against differences of the network's
// definition in double precision.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/device.h"
#include "gpu/core/error.h"
#include "gpu/core/random.h"
#include "gpu/ops/host_values.h"
#include "gpu/plan/plan.h"
#include "gpu/plan/selection.h"
#include "gpu/verify/network_check.h"
#include "tests/support/double_network.h"
#include "tests/support/random_model.h"

namespace warpscope::verify::attribution_test {
namespace {

constexpr std::size_t kImages = 2;

/// What a plan leaves, by image.
struct Attributed {
  std::vector<std::vector<double>> scores, gradients;
  std::vector<int> predicted;
};

class Attribution {
 public:
  Attribution(const NetworkCase& network, std::shared_ptr<core::Device> device,
              const plan::Selection& selection)
      : network_(network), device_(std::move(device)), stream_(device_->make_stream()) {
    std::vector<std::uint32_t> order(kImages);
    std::iota(order.begin(), order.end(), 0u);
    bindings_.images = keep<const std::uint8_t>(network.images);
    bindings_.image_count = kImages;
    bindings_.order = keep<const std::uint32_t>(order);
    bindings_.control = keep<ops::step::StepControl>(std::vector<ops::step::StepControl>(1));
    bindings_.parameters = keep<float>(network.parameters);
    bindings_.labels = keep<const std::uint8_t>(std::vector<std::uint8_t>(kImages));
    rows_ = core::Buffer(device_, rows_bytes());
    bindings_.score_rows = rows_.data();
    plan_ = std::make_unique<plan::Plan>(network.model, plan::Purpose::attribution, selection, kImages,
                                         device_, *stream_, bindings_);
  }

  /// The attribution of the score of `target`, or of the class that is predicted.
  Attributed run(std::optional<int> target) {
    const auto classes = static_cast<std::size_t>(network_.model.classes);
    std::vector<float> rows(classes * classes);
    for (std::size_t row = 0; row < classes; ++row) {
      rows[row * classes + (target ? static_cast<std::size_t>(*target) : row)] = 1;
    }
    stream_->copy(rows_.data(), rows.data(), rows_.bytes());
    plan_->launch(*stream_);
    std::vector<std::uint8_t> predicted(kImages);
    stream_->copy(predicted.data(), plan_->predicted(), predicted.size());
    stream_->synchronize();
    return {values_of(plan_->output(network_.model.layers.size() - 1)),
            values_of(plan_->input_gradient()),
            {predicted.begin(), predicted.end()}};
  }
  const plan::Plan& plan() const { return *plan_; }

 private:
  std::size_t rows_bytes() const {
    const auto classes = static_cast<std::size_t>(network_.model.classes);
    return classes * classes * sizeof(float);
  }
  template <class T, class Values>
  T* keep(const Values& values) {
    core::Buffer& buffer = kept_.emplace_back(device_, values.size() * sizeof(values[0]));
    stream_->copy(buffer.data(), values.data(), buffer.bytes());
    stream_->synchronize();
    return buffer.as<T>();
  }
  std::vector<std::vector<double>> values_of(const plan::WrittenTensor& tensor) {
    std::vector<float> all(static_cast<std::size_t>(tensor.elements));
    stream_->copy(all.data(), tensor.data, all.size() * sizeof(float));
    stream_->synchronize();
    std::vector<std::vector<double>> result;
    const std::size_t each = all.size() / kImages;
    for (std::size_t n = 0; n < kImages; ++n) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(n * each);
      result.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(each));
    }
    return result;
  }

  const NetworkCase& network_;
  std::shared_ptr<core::Device> device_;
  std::unique_ptr<core::Stream> stream_;
  std::vector<core::Buffer> kept_;
  core::Buffer rows_;
  plan::Bindings bindings_;
  std::unique_ptr<plan::Plan> plan_;
};

/// Scores by what the gradient is by: the input, or the output of a first layer that reads bytes.
class Definition {
 public:
  explicit Definition(const NetworkCase& network)
      : network_(network),
        layers_(network.model),
        parameters_(network.parameters.begin(), network.parameters.end()) {}

  std::vector<double> input(std::size_t image) const {
    const models::Model& model = network_.model;
    const auto pixels = static_cast<std::size_t>(model.height * model.width * model.channels);
    std::vector<double> values(pixels);
    for (std::size_t i = 0; i < pixels; ++i) values[i] = network_.images[image * pixels + i] / 255.0;
    return reads() ? layers_.outputs(parameters_, values).front() : values;
  }
  std::vector<double> scores(const std::vector<double>& input) const {
    return reads() ? layers_.outputs_behind(parameters_, input).back()
                   : layers_.outputs(parameters_, input).back();
  }
  /// By differences to both sides. Nothing where they differ: there is a corner, as of a ReLU or a pooling of zeros.
  std::optional<double> slope(std::vector<double>& input, std::size_t at, std::size_t target) const {
    constexpr double kStep = 1e-6;
    const double before = input[at], here = scores(input)[target];
    input[at] = before + kStep;
    const double up = (scores(input)[target] - here) / kStep;
    input[at] = before - kStep;
    const double down = (here - scores(input)[target]) / kStep;
    input[at] = before;
    if (std::abs(up - down) > 1e-5 + 1e-3 * std::abs(up)) return std::nullopt;
    return (up + down) / 2;
  }

 private:
  bool reads() const { return network_.model.layers.front().reads_symbols(); }

  const NetworkCase& network_;
  tests::DoubleNetwork layers_;
  std::vector<double> parameters_;
};

struct Counts {
  int compared = 0, cornered = 0;
};

/// Everything that the plan leaves, against the definition.
void compare(const NetworkCase& network, const Attributed& found, std::optional<int> target,
             std::uint64_t seed, Counts& counts) {
  const Definition definition(network);
  tests::Dice dice(seed);
  for (std::size_t image = 0; image < kImages; ++image) {
    std::vector<double> input = definition.input(image);
    const std::vector<double> scores = definition.scores(input);
    ASSERT_EQ(found.gradients[image].size(), input.size());
    for (std::size_t k = 0; k < scores.size(); ++k) {
      EXPECT_NEAR(found.scores[image][k], scores[k], 1e-4 * (1 + std::abs(scores[k])));
    }
    const auto most = std::max_element(found.scores[image].begin(), found.scores[image].end());
    EXPECT_EQ(found.predicted[image], most - found.scores[image].begin());
    double largest = 0;
    for (const double value : found.gradients[image]) largest = std::max(largest, std::abs(value));
    for (int tried = 0; tried < 12; ++tried) {
      const std::size_t at = dice() % input.size();
      const auto expected =
          definition.slope(input, at, static_cast<std::size_t>(target.value_or(found.predicted[image])));
      if (!expected) {
        ++counts.cornered;
        continue;
      }
      ++counts.compared;
      EXPECT_NEAR(found.gradients[image][at], *expected, 1e-6 + 1e-3 * std::max(largest, std::abs(*expected)))
          << network.model.name << " image " << image << " at " << at;
    }
  }
}

std::vector<std::shared_ptr<core::Device>> devices() {
  std::vector<std::shared_ptr<core::Device>> all{core::open_device("cpu")};
  if (core::cuda_unavailable_reason().empty()) {
    all.push_back(core::open_device("cuda"));
    all.back()->make_current();
  }
  return all;
}

/// With running means and variances as after some steps.
NetworkCase random_case(std::uint64_t seed) {
  NetworkCase network = make_network_case(core::Precision::fp32, seed, tests::random_model(seed));
  for (const models::Parameter& parameter : models::parameter_layout(network.model).parameters) {
    if (parameter.learned) continue;
    const bool variance = parameter.name.ends_with("running_var");
    for (std::size_t i = parameter.offset; i < parameter.offset + parameter.elements; ++i) {
      network.parameters[i] = static_cast<float>(core::random_unit(seed + 3, i) + (variance ? 0.3 : -0.5));
    }
  }
  return network;
}

TEST(Attribution, IsTheGradientOfAScoreByTheInputOfRandomNetworks) {
  for (const auto& device : devices()) {
    Counts counts;
    std::set<models::LayerKind> kinds, first;
    for (const std::uint64_t seed : tests::random_seeds(50)) {
      const NetworkCase network = random_case(seed);
      for (const models::Layer& layer : network.model.layers) kinds.insert(layer.kind);
      first.insert(network.model.layers.front().kind);
      for (const char* const variants : {"all=loops", ""}) {
        if (*variants != '\0' && device->kind() != core::DeviceKind::cpu) continue;
        plan::Selection selection{core::Precision::fp32, {}};
        plan::apply(selection, variants, device->info());
        Attribution attribution(network, device, selection);
        SCOPED_TRACE(variants);
        compare(network, attribution.run(std::nullopt), std::nullopt, seed, counts);
        compare(network, attribution.run(2), 2, seed, counts);
      }
    }
    EXPECT_EQ(kinds.size(), models::layer_rows().size()) << "a kind of layers is in none of them";
    EXPECT_TRUE(first.contains(models::LayerKind::one_hot) && first.contains(models::LayerKind::embedding));
    EXPECT_GT(counts.compared, 2000);
    EXPECT_LT(counts.cornered, counts.compared / 10);
  }
}

TEST(Attribution, OfTextsLeavesNothingElse) {
  for (const auto first : {models::LayerKind::one_hot, models::LayerKind::embedding}) {
    const NetworkCase network = make_network_case(core::Precision::fp32, 3, small_text_network(first));
    Attribution attribution(network, core::open_device("cpu"), {core::Precision::fp32, {}});
    Counts counts;
    compare(network, attribution.run(std::nullopt), std::nullopt, 3, counts);
    EXPECT_GT(counts.compared, 10);
    for (const plan::PlanNode& node : attribution.plan().nodes()) {
      EXPECT_NE(node.op, ops::Op::conv2d_backward_weights);
      EXPECT_NE(node.op, ops::Op::conv2d_backward_bias);
      EXPECT_NE(node.op, ops::Op::linear_backward_weights);
      EXPECT_NE(node.op, ops::Op::embedding_backward_weights);
    }
  }
}

TEST(Attribution, OfANetworkThatReconstructsIsRefused) {
  EXPECT_THROW(plan::lower(small_network(), plan::Purpose::attribution, 2, 2, 0, core::Precision::fp32),
               core::BadInput);
}

}  // namespace
}  // namespace warpscope::verify::attribution_test
