#pragma once
// What verify and bench both take: a device, and lists of operations, precisions and part of a variant's
// name.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/user_kernels.h"
#include "gpu/core/device.h"
#include "gpu/ops/variant.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name is the library's
class App;
}

namespace warpscope::app {

/// As typed.
struct ChoiceArguments {
  std::string device = "auto";
  std::vector<std::string> ops;
  std::vector<std::string> precisions;
  std::string variant;
  KernelArguments kernels;
};

struct Choices {
  std::shared_ptr<core::Device> device;
  std::vector<ops::Op> ops;                 ///< empty: all
  std::vector<core::Precision> precisions;  ///< empty: all
  std::string variant;                      ///< "": all
  ops::Variants variants = ops::built_in_variants();

  ops::Context context() const { return {device, variants}; }
};

/// Adds --device, --op, --variant, --precision and --kernel (options.cpp, beside the other options).
void add_choice_options(CLI::App& app, ChoiceArguments& arguments);

/// Throws core::BadInput for unknown names, listing the valid ones; so too if no variant's name contains
/// --variant. `also` are names beside those of variants.
Choices choices(const ChoiceArguments& arguments, const std::vector<std::string>& also = {});

/// CUDA variants among the choices that cannot run because there is no GPU, and the reason; empty if the
/// device is one.
std::vector<const ops::Variant*> missing_variants(const Choices& choices);

/// Put the device, and variants for which there is none, into the JSON of what was found.
void describe_device(const core::DeviceInfo& device, nlohmann::ordered_json& json);
void describe_missing(const std::vector<const ops::Variant*>& missing, const std::string& reason,
                      nlohmann::ordered_json& json);

/// "fp32, tf32".
std::string precision_names(const ops::Variant& variant);

}  // namespace warpscope::app
