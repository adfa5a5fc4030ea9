#pragma once
// Parameters between Warpscope's layout, (K, R, S, C) in one contiguous buffer, and safetensors files in
// PyTorch's, (K, C, R, S) under PyTorch's names.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gpu/core/error.h"
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

/// A file of weights that lacks what a network needs, or has it in another shape.
class BadFit : public core::BadInput {
 public:
  using core::BadInput::BadInput;
};

/// Reads a network's parameters from a file that save_parameters(), a checkpoint (checkpoint.h) or PyTorch has written,
/// by match_names(). `notice`, if there is one, is what people should know of how, in one sentence, else "". Throws
/// core::BadInput that names the file if it cannot be read, BadFit that also names the first tensor that is missing or
/// of
/// another shape.
std::vector<float> load_parameters(const std::string& path, const Model& model,
                                   std::string* notice = nullptr);

/// Copies from a file those parameters of `model` that it holds under their names and in their shapes into `values`
/// (ParameterLayout) and returns the names of the others, whose values stay. `notice` as above. Throws core::BadInput
/// that names the file if nothing in it fits.
std::vector<std::string> take_fitting_parameters(const std::string& path, const Model& model,
                                                 std::vector<float>& values, std::string* notice = nullptr);

/// Where parameters hold numbers that cannot be: "NaN in fc.bias and infinity in conv1.weight", "a variance below 0 in
/// bn1.running_var"; "" if nowhere.
std::string bad_numbers_in(const Model& model, const std::vector<float>& values);

/// A parameter that two networks have in common: under the same name and in the same shape.
struct SharedParameter {
  std::size_t from = 0;  ///< where it begins in the buffer of the one, in elements
  std::size_t to = 0;    ///< and in that of the other
  std::size_t elements = 0;
};

/// What `to` has in common with `from`, in the order of `to`; what layers keep themselves (running means) too.
std::vector<SharedParameter> shared_parameters(const ParameterLayout& from, const ParameterLayout& to);

/// The classes of the head of which a file holds the weights; 0 if it holds none.
int head_classes_in(const std::vector<files::TensorEntry>& entries);

/// A buffer of `model` (ParameterLayout) as PyTorch has it: a tensor for each parameter, named `prefix` + the
/// parameter's name.
std::vector<files::NamedTensor> to_tensors(const Model& model, const std::vector<float>& values,
                                           const std::string& prefix = "");

/// The other way round, from those of `tensors` whose names have the prefix; padding is zero. Throws
/// core::BadInput that names `path` and the first tensor that is missing or of another shape.
std::vector<float> from_tensors(const Model& model, const std::vector<files::NamedTensor>& tensors,
                                const std::string& path, const std::string& prefix = "");

}  // namespace warpscope::models
