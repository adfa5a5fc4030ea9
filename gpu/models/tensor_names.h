#pragma once
// Which tensors of a file are a network's parameters. PyTorch's wrappers of networks (DataParallel, torch.compile, a
// module that holds the network) put their own names before those of the parameters.

#include <map>
#include <string>
#include <vector>

#include "gpu/files/safetensors.h"
#include "gpu/models/model.h"

namespace warpscope::models {

/// A file's tensors as those of a network.
struct TensorNames {
  std::map<std::string, const files::TensorEntry*> found;  ///< by the name of the parameter
  std::vector<std::string> taken_off;  ///< of the names in the file: "module.", "_orig_mod."
  std::vector<std::string> others;     ///< tensors that the network does not need, as the file names them
};

/// The tensors whose names are those of parameters, else those whose names are so behind the beginning that most of
/// them share, without what PyTorch's wrappers put within them. Not told as others are the counters that PyTorch's
/// batch
/// norms keep (num_batches_tracked), an optimizer's tensors, and, of a file that this program has written, those of a
/// head. Throws core::BadInput if two beginnings lead to as many.
TensorNames match_names(const files::SafetensorsFile& file, const ParameterLayout& layout);

/// "FILE: 'module.' was taken off its names; left aside is what mlp does not need: a, b and c"; "" if there is nothing
/// to tell.
std::string notice_of(const TensorNames& names, const std::string& path, const Model& model);

/// "'a', 'b' and 5 more"; "" of none.
std::string listed(const std::vector<std::string>& names);

}  // namespace warpscope::models
