#pragma once
// What run.json says of a training, for windows: all that there is of runs that have no status.json.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "gpu/messages/snapshot.h"
#include "gpu/models/model.h"

namespace warpscope::runs {

/// As far as `head` (run.json) tells; what it does not tell, or tells in another way than this version, is
/// left as a new Snapshot has it.
training::Snapshot snapshot_of(const nlohmann::json& head);

/// The network as it was last, in the words of run.json (models::text_of()).
std::string network_text(const nlohmann::json& head);

/// The network as it was last. Throws core::BadInput if this version does not know it.
models::Model model_in(const nlohmann::json& head);

/// finished, failed, or running (also where nothing is said).
training::TrainerState state_of(const nlohmann::json& head);

/// Why the run failed; "" if it did not say.
std::string error_of(const nlohmann::json& head);

/// A data set with the names of the classes, and no images; nullptr if run.json does not tell them.
std::shared_ptr<const data::DataSet> named_data(const nlohmann::json& head, const std::string& name);

}  // namespace warpscope::runs
