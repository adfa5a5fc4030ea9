#pragma once
// A network while a person edits it: its layers, what is wrong with them and what an edit costs. No drawing here.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gpu/models/model.h"

namespace warpscope::ui {

/// Why a network cannot be trained.
struct DraftFault {
  std::optional<std::size_t> layer;  ///< the first one that does not fit; nothing: the whole network
  std::string why;                   ///< "takes 8 channels, gets 16"
};

/// A layer of it. Behind the first layer that does not fit nothing is known of sizes.
struct DraftRow {
  std::optional<models::Extent> input, output;
  std::optional<std::size_t> parameters;  ///< that it learns
};

/// A number of the whole network.
struct NetworkField {
  const char* key;
  const char* meaning;
  int models::Model::*number;
  int least;
  int most;
};

/// Those that `network` has: height, width and channels of images or the length of texts, and classes if it classifies.
std::vector<NetworkField> network_fields(const models::Model& network);

/// What applying it would do.
struct DraftSummary {
  std::size_t parameters_before = 0;
  std::size_t parameters_after = 0;
  std::size_t tensors = 0;  ///< parameter tensors of the edited network
  std::size_t carried =
      0;  ///< of these, that the trained one has too, in the same shape (models::shared_parameters)
};

class NetworkDraft {
 public:
  explicit NetworkDraft(const models::Model& trained);

  /// Another network is trained from now on. What a person has edited stays.
  void set_trained(const models::Model& trained);
  const models::Model& trained() const { return trained_; }

  /// The network as it is now, its input channels filled in. Where it differs from the built-in one of its name it has
  /// another name.
  const models::Model& network() const { return network_; }
  /// What people call a layer: its name, or "layer 3", counted from 1, while that is empty.
  std::string called(std::size_t at) const;
  const std::vector<DraftRow>& rows() const { return rows_; }
  const std::optional<DraftFault>& fault() const { return fault_; }
  /// Nothing while there is a fault.
  const std::optional<DraftSummary>& summary() const { return summary_; }
  /// It is not what is trained.
  bool changed() const { return differs_from(trained_); }
  /// It is another network than `network`, whatever both are called.
  bool differs_from(const models::Model& network) const;
  /// Grows with each change, also of what is trained.
  std::size_t version() const { return version_; }
  /// Why the training cannot go on with this network on its data set, which people call `data` and which has so many
  /// classes (0: not known): "the images of CIFAR-10 are 32x32x3, this network takes 28x28x1"; "" if it can.
  std::string misfit(const std::string& data, std::size_t classes) const;

  // Edits. `at` is the index of a layer.
  /// A new layer so that it has index `at`, with a name of its own, defaults, and where a field has none what fits the
  /// place: as many channels as it gets, the nearest earlier layer of the same size.
  void add(std::size_t at, models::LayerKind kind);
  void remove(std::size_t at);
  /// Swaps a layer with the one before or behind it; nothing happens at the ends.
  void move_up(std::size_t at);
  void move_down(std::size_t at);
  void duplicate(std::size_t at);
  /// Layers that refer to it follow. Returns why it cannot be called so, and does nothing then; "" if it can.
  std::string rename(std::size_t at, const std::string& name);
  /// A number, or a flag as 0 and 1.
  void set(std::size_t at, const models::LayerField& field, double value);
  void set(std::size_t at, const models::LayerField& field, const std::string& text);
  void set(const NetworkField& field, int value);
  /// Texts or images, as the trained network takes them if it does, else of a usual size.
  void take_texts(bool texts);
  /// Layers that told all characters apart tell all of the new ones. Returns why it cannot be the alphabet, and does
  /// nothing then; "" if it can.
  std::string set_alphabet(const std::string& alphabet);
  /// One that classifies has as many classes as the trained network, or 10.
  void set_loss(models::Loss loss);
  /// Another network in its place.
  void open(const models::Model& network);
  /// Back to what is trained.
  void revert() { open(trained_); }

  bool can_undo() const { return !past_.empty(); }
  bool can_redo() const { return !future_.empty(); }
  void undo();
  void redo();

  /// The earlier layers that layer `at` may refer to: those whose output has the size of its input.
  std::vector<std::string> earlier(std::size_t at) const;

 private:
  void keep(std::vector<models::Model>& list) const;
  void take(models::Model next);
  void edit(models::Model next);
  void update();
  void find_sizes();
  std::string free_name(const std::string& prefix) const;

  models::Model trained_;
  models::Model network_;
  std::string name_;  ///< of the network it began as
  std::vector<DraftRow> rows_;
  std::optional<DraftFault> fault_;
  std::optional<DraftSummary> summary_;
  std::vector<models::Model> past_, future_;
  std::size_t version_ = 0;
};

/// Value of a number or flag.
double value_of(const models::LayerField& field, const models::Layer& layer);

/// A path as a person types it: without spaces around it, "~/" for the home folder, with the ending of networks if it
/// has none.
std::filesystem::path network_path(const std::string& typed);

/// Writes a network for people (models::Style::for_people), whole or not at all. Throws core::Error, and core::BadInput
/// if what is written could not be read again.
void save_network(const models::Model& network, const std::filesystem::path& file);

}  // namespace warpscope::ui
