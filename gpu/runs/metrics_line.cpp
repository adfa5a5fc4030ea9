#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "gpu/runs/run_points.h"

namespace warpscope::runs {
namespace {

using nlohmann::json;

constexpr std::string_view kLoss = "loss";
constexpr std::string_view kLossEnding = "_loss";
constexpr std::string_view kHeadLoss = "head_loss";
constexpr std::string_view kSpeed = "images_per_second";

/// The series of a value in the line of a step.
std::string series_of_step(const std::string& key) {
  for (const training::MetricRow& row : training::metrics()) {
    if (row.key == key && !row.steps.empty()) return row.steps;
  }
  return key;
}

/// Takes the scalars of one object without building it: a run has a million lines.
class LineReader : public json::json_sax_t {
 public:
  explicit LineReader(MetricsLine& line) : line_(line) {}

  bool null() override { return value(std::numeric_limits<double>::quiet_NaN()); }
  bool boolean(bool given) override {
    if (depth_ == 1 && key_ == "anew") line_.anew = given;
    return value(given ? 1 : 0);
  }
  bool number_integer(json::number_integer_t given) override { return value(static_cast<double>(given)); }
  bool number_unsigned(json::number_unsigned_t given) override {
    if (depth_ == 1 && key_ == "step") {
      step_ = given;
      return true;
    }
    return value(static_cast<double>(given));
  }
  bool number_float(json::number_float_t given, const std::string& /*text*/) override { return value(given); }
  bool string(std::string& given) override {
    if (depth_ == 0) objection_ = "it is no JSON object";
    if (depth_ == 1 && (key_ == "step" || key_ == "epoch" || key_ == "seconds")) refuse_key();
    if (depth_ == 1 && key_ == "marker") marker_ = given;
    if (depth_ == 1 && key_ == "split") split_ = given;
    return objection_.empty();
  }
  bool binary(json::binary_t& /*given*/) override { return true; }
  bool start_object(std::size_t /*elements*/) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*elements*/) override {
    if (depth_ == 0) objection_ = "it is no JSON object";
    return open();
  }
  bool end_array() override { return close(); }
  bool key(std::string& given) override {
    if (depth_ == 1) key_ = given;
    return true;
  }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const json::exception& /*error*/) override {
    objection_ = "it is not JSON";
    return false;
  }

  /// Completes the line; what is wrong with it, or "".
  std::string finish() {
    if (!objection_.empty()) return objection_;
    if (!step_) return "it has no \"step\"";
    line_.step = *step_;
    line_.marker = marker_.value_or("");
    if (marker_) {
      line_.kind = MetricsLine::Kind::marker;
      line_.values.clear();
      return "";
    }
    name_values();
    return "";
  }

 private:
  bool open() {
    if (depth_ == 1 && (key_ == "step" || key_ == "epoch" || key_ == "seconds" || key_ == "marker"))
      refuse_key();
    ++depth_;
    return objection_.empty();
  }
  bool close() {
    --depth_;
    return true;
  }
  void refuse_key() { objection_ = "its \"" + key_ + "\" is no number"; }

  bool value(double given) {
    if (depth_ == 0) objection_ = "it is no JSON object";
    if (depth_ != 1) return depth_ > 1;
    if (key_ == "step") objection_ = "its \"step\" is no whole number from 0 on";
    if (key_ == "marker") objection_ = "its \"marker\" is no text";
    if (key_ == "epoch") {
      line_.epoch = given;
    } else if (key_ == "seconds") {
      line_.seconds = given;
    } else {
      line_.values.emplace_back(key_, given);
    }
    return objection_.empty();
  }

  /// The split of a test line; "" for a step.
  std::string test_split() const {
    if (!split_.empty()) return split_ == "train" ? "" : split_;
    std::string split;
    for (const auto& [name, unused] : line_.values) {
      if (name == kLoss) return "";
      if (name == kHeadLoss) continue;
      if (split.empty() && name.size() > kLossEnding.size() && name.ends_with(kLossEnding)) {
        split = name.substr(0, name.size() - kLossEnding.size());
      }
    }
    return split;
  }

  void name_values() {
    const std::string split = test_split();
    line_.kind = split.empty() ? MetricsLine::Kind::step : MetricsLine::Kind::test;
    for (auto& [name, value] : line_.values) {
      if (split.empty()) {
        if (name == kSpeed && value == 0) value = std::numeric_limits<double>::quiet_NaN();
        name = series_of_step(name);
        continue;
      }
      for (const std::string& prefix : {std::string("test_"), split + "_"}) {
        if (name.starts_with(prefix)) {
          name.erase(0, prefix.size());
          break;
        }
      }
      name.insert(0, split + "_");
    }
  }

  MetricsLine& line_;
  int depth_ = 0;
  std::string key_;
  std::optional<std::uint64_t> step_;
  std::optional<std::string> marker_;
  std::string split_;
  std::string objection_;
};

}  // namespace

std::string parse_metrics_line(std::string_view text, MetricsLine& line) {
  line.epoch = std::numeric_limits<double>::quiet_NaN();
  line.seconds = std::numeric_limits<double>::quiet_NaN();
  line.anew = false;
  line.values.clear();
  LineReader reader(line);
  json::sax_parse(text, &reader);
  return reader.finish();
}

}  // namespace warpscope::runs
