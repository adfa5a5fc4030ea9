// Shows what the characters of texts have to do with the class that the network takes each text for.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/device.h"
#include "gpu/core/error.h"
#include "gpu/data/text_encoding.h"
#include "gpu/files/utf8.h"
#include "gpu/messages/text_attributions.h"
#include "gpu/observers/host_copies.h"
#include "gpu/observers/look.h"
#include "gpu/observers/observer_table.h"
#include "gpu/ops/host_values.h"
#include "gpu/plan/plan.h"

namespace warpscope::training {
namespace {

using ops::step::StepControl;

/// What the gradient begins with in FP16, so that its small numbers are not lost; a power of two changes nothing else.
constexpr float kHalfScale = 1024;

float scale_in(core::Precision precision) {
  return precision == core::Precision::fp16 ? kHalfScale : 1.0f;
}

/// A text and what is asked about it.
struct AskedText {
  std::optional<std::int64_t> place;
  std::string text;
};

/// Runs texts through a plan that goes back from the score of a class to the characters, and brings scores and shares
/// to the host.
class AttributionPass {
 public:
  /// For the scene's model, in the precision of its selection: each op by the best variant. `most` texts at the most,
  /// `batch` at once. Throws core::BadInput where the network takes no texts, and as plan::Plan does.
  AttributionPass(const Scene& scene, int batch, std::size_t most)
      : model_(scene.model),
        precision_(scene.selection.precision),
        device_(scene.device),
        batch_(static_cast<std::size_t>(batch)),
        most_((most + batch_ - 1) / batch_ * batch_) {
    if (!model_.reads_text()) throw core::BadInput(fmt::format("model {} takes no texts", model_.name));
    const plan::Bindings bindings = bind(scene);
    plan_ =
        std::make_unique<plan::Plan>(model_, plan::Purpose::attribution, plan::Selection{precision_, {}},
                                     batch, ops::Context{device_, scene.variants}, scene.stream, bindings);
    scores_ = rows_of(plan_->output(model_.layers.size() - 1));
    gradients_ = rows_of(plan_->input_gradient());
    if (embeds()) embedded_ = rows_of(plan_->output(0));
  }

  /// Each op runs by the best variant, whatever is selected.
  bool fits(const Scene& scene) const { return precision_ == scene.selection.precision; }
  /// The passes of `texts`, of which the first `most` count, and the copies. `target`: TypedText::target, of all of
  /// them. Throws core::BadInput if there is no such class.
  void enqueue(const Scene& scene, std::vector<AskedText> texts, std::optional<int> target) {
    choose_target(target);
    if (texts.size() > most_) texts.resize(most_);
    encode(texts);
    const std::size_t passes = (texts.size() + batch_ - 1) / batch_;
    scene.stream.copy(score_rows_.data(), table_.data(), table_.bytes());
    for (std::size_t pass = 0; pass < passes; ++pass) {
      scene.stream.copy(bytes_.data(), encoded_.as<std::byte>() + pass * bytes_.bytes(), bytes_.bytes());
      plan_->launch(scene.stream);
      for (const Rows* rows : {&scores_, &gradients_, &embedded_}) {
        const std::size_t bytes = batch_ * rows->row_bytes;
        if (bytes == 0) continue;
        scene.stream.copy(rows->arrived.as<std::byte>() + pass * bytes, rows->tensor.data, bytes);
      }
    }
    what_ = TextAttributions{};
    what_.step = scene.step;
    what_.generation = scene.generation;
    asked_ = std::move(texts);
    target_ = target;
  }

  TextAttributions made() const {
    TextAttributions result = what_;
    for (std::size_t i = 0; i < asked_.size(); ++i) result.texts.push_back(sum_up(i));
    return result;
  }

 private:
  /// A row for each text, one after the other.
  struct Rows {
    plan::WrittenTensor tensor;
    core::HostBuffer arrived;
    std::size_t row_bytes = 0;  ///< of a text
  };
  Rows rows_of(const plan::WrittenTensor& tensor) const {
    const std::size_t row_bytes = tensor.bytes() / batch_;
    return {tensor, core::HostBuffer(device_, most_ * row_bytes), row_bytes};
  }
  /// Memory of its own for the texts, in the order in which they are asked about.
  plan::Bindings bind(const Scene& scene) {
    const auto length = static_cast<std::size_t>(model_.width),
               classes = static_cast<std::size_t>(model_.classes);
    const core::ElementType type = ops::element_type(ops::Role::weight, precision_);
    bytes_ = core::Buffer(device_, batch_ * length);
    labels_ = core::Buffer(device_, batch_);
    order_ = core::upload(device_, scene.stream, plan::in_order(static_cast<std::int64_t>(batch_)));
    control_ = core::upload(device_, scene.stream, std::vector<StepControl>(1));
    score_rows_ = core::Buffer(device_, classes * classes * core::size_of(type));
    encoded_ = core::HostBuffer(device_, most_ * length);
    table_ = core::HostBuffer(device_, score_rows_.bytes());
    scene.stream.fill(labels_.data(), 0, labels_.bytes());
    scene.stream.synchronize();
    plan::Bindings bindings = scene.held_out;
    bindings.images = bytes_.as<std::uint8_t>();
    bindings.image_count = static_cast<std::int64_t>(batch_);
    bindings.order = order_.as<std::uint32_t>();
    bindings.control = control_.as<StepControl>();
    bindings.labels = labels_.as<std::uint8_t>();
    bindings.score_rows = score_rows_.data();
    return bindings;
  }

  bool embeds() const { return model_.layers.front().kind == models::LayerKind::embedding; }
  void encode(const std::vector<AskedText>& texts) {
    const data::Alphabet alphabet(model_.alphabet);
    const auto length = static_cast<std::size_t>(model_.width);
    std::memset(encoded_.data(), 0, encoded_.bytes());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      alphabet.encode(texts[i].text, std::span(encoded_.as<std::uint8_t>() + i * length, length));
    }
  }

  /// The rows that the gradient begins with: that of each class its own score, or all that of the target.
  void choose_target(std::optional<int> target) {
    if (target && (*target < 0 || *target >= model_.classes)) {
      throw core::BadInput(
          fmt::format("there is no class {}; there are {}, from 0", *target, model_.classes));
    }
    const auto classes = static_cast<std::size_t>(model_.classes);
    std::vector<double> rows(classes * classes);
    for (std::size_t predicted = 0; predicted < classes; ++predicted) {
      const std::size_t column = target ? static_cast<std::size_t>(*target) : predicted;
      rows[predicted * classes + column] = scale_in(precision_);
    }
    const ops::Bytes bytes = ops::encode(rows, ops::element_type(ops::Role::weight, precision_));
    std::memcpy(table_.data(), bytes.data(), bytes.size());
  }

  std::vector<float> row(const Rows& rows, std::size_t text) const {
    return widened({rows.arrived.as<const std::byte>() + text * rows.row_bytes, rows.row_bytes},
                   rows.tensor.type);
  }
  /// One for each place of the input.
  std::vector<float> shares_of(std::size_t text) const {
    const models::Layer& first = model_.layers.front();
    const auto length = static_cast<std::size_t>(model_.width);
    const std::uint8_t* const bytes = encoded_.as<const std::uint8_t>() + text * length;
    const std::vector<float> gradient = row(gradients_, text);
    const std::vector<float> embedded = embeds() ? row(embedded_, text) : std::vector<float>{};
    const std::size_t channels = gradient.size() / length;
    std::vector<float> shares(length);
    for (std::size_t at = 0; at < length; ++at) {
      const float* const slope = gradient.data() + at * channels;
      double sum = 0;
      if (embeds()) {
        for (std::size_t c = 0; c < channels; ++c)
          sum += double{slope[c]} * double{embedded[at * channels + c]};
      } else if (first.reads_symbols()) {
        if (bytes[at] >= 1 && bytes[at] <= channels) sum = double{slope[bytes[at] - 1U]};
      } else {
        sum = double{slope[0]} * bytes[at] / 255;
      }
      shares[at] = static_cast<float>(sum / double{scale_in(precision_)});
    }
    return shares;
  }

  /// Places hold the last character first.
  TextAttribution sum_up(std::size_t text) const {
    TextAttribution result;
    result.place = asked_[text].place;
    result.text = asked_[text].text;
    result.scores = row(scores_, text);
    const auto most = std::ranges::max_element(result.scores);
    result.target = target_.value_or(static_cast<int>(most - result.scores.begin()));
    const auto length = static_cast<std::size_t>(model_.width);
    const std::size_t characters = files::decode_utf8(result.text).size(),
                      read = std::min(characters, length);
    const std::uint8_t* const bytes = encoded_.as<const std::uint8_t>() + text * length;
    const std::vector<float> shares = shares_of(text);
    for (std::size_t at = read; at-- > 0;) {
      result.shares.push_back(shares[at]);
      result.known.push_back(bytes[at] != 0);
    }
    result.left_out = characters - read;
    result.blank_share =
        std::accumulate(shares.begin() + static_cast<std::ptrdiff_t>(read), shares.end(), 0.0f);
    return result;
  }

  models::Model model_;
  core::Precision precision_;
  std::shared_ptr<core::Device> device_;
  std::size_t batch_, most_;
  core::Buffer bytes_, labels_, order_, control_, score_rows_;
  core::HostBuffer encoded_;  ///< of `most` texts, in whole batches
  core::HostBuffer table_;    ///< goes to `score_rows_`
  std::unique_ptr<plan::Plan> plan_;
  Rows scores_, gradients_;
  Rows embedded_;  ///< where the first layer is an embedding
  std::vector<AskedText> asked_;
  std::optional<int> target_;
  TextAttributions what_;  ///< without texts
};

/// One text.
class TypedTextPass : public AttributionPass {
 public:
  explicit TypedTextPass(const Scene& scene) : AttributionPass(scene, 1, 1) {}
  void enqueue(const Scene& scene, const TypedText& typed) {
    AttributionPass::enqueue(scene, {{std::nullopt, typed.text}}, typed.target);
  }
  /// Somebody waits for it, and only while a text is typed.
  static constexpr double kShare = 1.0 / 10;
  static std::optional<TypedText> asked(const ObservationRequest& request) { return request.typed_text; }
  /// What was typed a moment ago is shown too: somebody who types fast sees the classes move.
  static bool shows(const TypedText& before, const TypedText& now) { return before.target == now.target; }
};

/// Texts of a held-out set.
class HeldOutTextPass : public AttributionPass {
 public:
  static constexpr int kAtOnce = 8;
  static constexpr std::size_t kMost = 64;  ///< more than a screen has rows

  explicit HeldOutTextPass(const Scene& scene) : AttributionPass(scene, kAtOnce, kMost) {}
  /// Throws core::BadInput if a text is not there.
  void enqueue(const Scene& scene, const HeldOutTexts& asked) {
    const data::ImageSet& set = asked.validation ? scene.data.validation : scene.data.test;
    std::vector<AskedText> texts;
    for (const std::int64_t place : asked.places) {
      if (place < 0 || static_cast<std::size_t>(place) >= set.texts.size()) {
        throw core::BadInput(
            fmt::format("there is no held-out text {}; there are {}, from 0", place, set.texts.size()));
      }
      texts.push_back({place, set.texts[static_cast<std::size_t>(place)]});
    }
    AttributionPass::enqueue(scene, std::move(texts), std::nullopt);
    validation_ = asked.validation;
  }

  // NOLINTNEXTLINE(bugprone-derived-method-shadowing-base-method): each kind of pass has its own
  TextAttributions made() const {
    TextAttributions result = AttributionPass::made();
    result.validation = validation_;
    return result;
  }

  static constexpr double kShare = 1.0 / 30;
  static std::optional<HeldOutTexts> asked(const ObservationRequest& request) {
    return request.held_out_texts;
  }
  static bool shows(const HeldOutTexts& before, const HeldOutTexts& now) {
    return before.validation == now.validation;
  }

 private:
  bool validation_ = false;
};

/// Observations::typed_text of ObservationRequest::typed_text: as soon as another text is asked about, and then as the
/// weights change.
using TypedTextObserver = AskedObserver<&Observations::typed_text, TypedTextPass>;

/// Observations::held_out_texts of ObservationRequest::held_out_texts.
using HeldOutTextObserver = AskedObserver<&Observations::held_out_texts, HeldOutTextPass>;

}  // namespace

std::unique_ptr<Observer> make_typed_text_observer() {
  return std::make_unique<TypedTextObserver>();
}

std::unique_ptr<Observer> make_held_out_text_observer() {
  return std::make_unique<HeldOutTextObserver>();
}

}  // namespace warpscope::training
