#pragma once
// Parameters between Warpscope's layout, (K, R, S, C) in one contiguous buffer, and safetensors files in
// PyTorch's, (K, C, R, S) under PyTorch's names.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpu/files/safetensors.h"
#include "gpu/models/model.h"

namespace warpscope::models {

/// Entries of the metadata of files of weights.
inline constexpr const char* kModelEntry = "model";
inline constexpr const char* kNetworkEntry = "network";

/// What the names of an optimizer's tensors in a checkpoint begin with.
inline constexpr const char* kOptimizerPrefix = "optimizer.";

/// What a file of weights says of their network: its name, and the whole network if it is not built in.
std::map<std::string, std::string> describe_in_file(const Model& model);

/// The network that a file of weights says it is of; none if it does not say, or names one that is not known.
std::optional<Model> described_in_file(const std::map<std::string, std::string>& metadata);

/// Writes `values` (ParameterLayout) to `path`, whole or not at all. Throws core::Error.
void save_parameters(const std::string& path, const Model& model, const std::vector<float>& values);

/// Reads them back. Tensors of an optimizer in a checkpoint (checkpoint.h), and of a head that the model does not
/// have, are left aside. Throws core::BadInput that names the file and the first tensor that is missing, unknown, or
/// of another shape.
std::vector<float> load_parameters(const std::string& path, const Model& model);

/// Copies from a file those parameters of `model` that it holds under their names and in their shapes into `values`
/// (ParameterLayout) and returns the names of the others, whose values stay. Whatever else the file holds is left
/// aside. Throws core::BadInput that names the file if nothing in it fits.
std::vector<std::string> take_fitting_parameters(const std::string& path, const Model& model,
                                                 std::vector<float>& values);

/// A parameter that two networks have in common: under the same name and in the same shape.
struct SharedParameter {
  std::size_t from = 0;  ///< where it begins in the buffer of the one, in elements
  std::size_t to = 0;    ///< and in that of the other
  std::size_t elements = 0;
};

/// What `to` has in common with `from`, in the order of `to`; what layers keep themselves (running means) too.
std::vector<SharedParameter> shared_parameters(const ParameterLayout& from, const ParameterLayout& to);

/// The classes of the head of which `tensors` hold the weights; 0 if they hold none.
int head_classes_in(const std::vector<files::NamedTensor>& tensors);

/// A buffer of `model` (ParameterLayout) as PyTorch has it: a tensor for each parameter, named `prefix` + the
/// parameter's name.
std::vector<files::NamedTensor> to_tensors(const Model& model, const std::vector<float>& values,
                                           const std::string& prefix = "");

/// The other way round, from those of `tensors` whose names have the prefix; padding is zero. Throws
/// core::BadInput that names `path` and the first tensor that is missing or of another shape.
std::vector<float> from_tensors(const Model& model, const std::vector<files::NamedTensor>& tensors,
                                const std::string& path, const std::string& prefix = "");

}  // namespace warpscope::models
