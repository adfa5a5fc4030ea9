#include "ui/text/terms.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "gpu/runs/figure_table.h"

namespace warpscope::ui {
namespace {

constexpr std::array kTerms{
    Term{"Accuracy", "The share of images whose most probable class is the true one.", "Accuracy, %"},
    Term{"Activation", "What a layer of the network puts out for an image.", "activations;outputs"},
    Term{"Alpha", "How long RMSprop remembers squared gradients: 0.99 is about a hundred steps."},
    Term{"Augment", "Changes training images at random, so that the network does not learn them by heart.",
         "augmentation"},
    Term{"Batch", "The images of one training step, whose mean gradient makes the update."},
    Term{"Bench", "Times every variant of an operation by itself, on the shapes of the training step."},
    Term{"Beta 1", "How long the mean of gradients remembers: 0.9 is about ten steps."},
    Term{"Beta 2", "How long the mean of squared gradients remembers: 0.999 is about a thousand steps."},
    Term{"Channel", "One of the planes of numbers that a layer puts out, made by one filter.",
         "input channel"},
    Term{"Checkpoint", "All that is needed to go on with a run later, as files in its folder."},
    Term{"Clipping",
         "Shortens a gradient that is longer than a limit, so that one odd batch cannot spoil the weights.",
         "clip norm;clip value"},
    Term{"Confusion", "Counts, for each true class, how often the network chose each class."},
    Term{"Crop", "Shifts an image by a few pixels, so that its place matters less."},
    Term{"Curves",
         "One metric of every training step, with the tests, the changes that were made and earlier runs."},
    Term{"Cutout", "Hides a square of an image, so that no single part of it decides."},
    Term{"Data set", "The images that the network learns from and is tested on, with their classes."},
    Term{"Dead ReLU", "A unit that is 0 for every image and so passes no gradient and learns nothing.",
         "dead channels;dead units"},
    Term{"Determinism",
         "Runs the same step twice and compares the bits: variants that use atomics may differ."},
    Term{"Distributions",
         "How the weights, activations, gradients and updates of each layer are spread over the steps."},
    Term{"Energy", "What the whole GPU takes for an image, in thousandths of a joule.", "mJ/image"},
    Term{"Epoch", "One pass over all training images.", "epochs"},
    Term{"Epsilon", "Keeps gradients that are nearly 0 from making huge updates."},
    Term{"Features",
         "Numbers that a layer makes of an image, and what they are worth to a classifier that learns from "
         "them."},
    Term{"Filter",
         "The weights with which a convolution looks at each place of its input to make one channel.",
         "weight"},
    Term{"Finder",
         "Raises the learning rate step by step and suggests one from where the loss falls fastest."},
    Term{"Flip", "Mirrors an image, left to right."},
    Term{"Floor",
         "The least time that the device could take: products at its peak rate or bytes at its peak "
         "bandwidth.",
         "of floor"},
    Term{"Frames/s", "How many pictures of this window were drawn in the last second."},
    Term{"GB/s", "Billions of bytes that an operation reads and writes in a second."},
    Term{"Gradient", "The direction in which the loss rises fastest, a number for each weight.", "gradients"},
    Term{"Image path",
         "How pictures get from the training to the screen: within the GPU, or by way of the CPU."},
    Term{"Images", "Images that the network never trains on, what it makes of them, and the difference."},
    Term{"Jitter", "Changes brightness, contrast and saturation of an image."},
    Term{"Joint",
         "How much the loss of a head on the latents counts beside the error of the reconstruction."},
    Term{"Kernels",
         "The operations of a training step: which variant runs each, how long, and how near the floor."},
    Term{"Ladder", "Lists what was tried in this run, with its speed beside that of the first."},
    Term{"Latent", "What the encoder makes of an image: the numbers from which the decoder draws it again."},
    Term{"Learning rate", "How far the weights move along the gradient in a step.", "rate"},
    Term{"Loss",
         "The number that training makes smaller: how far the network's answers are from the right ones."},
    Term{"Loss spike",
         "A loss so many standard deviations above the mean of those before it that something went wrong."},
    Term{"Memory", "What a training step holds over its course, and what other choices would need."},
    Term{"Micro-batches", "The parts of a batch that would take too much memory at once."},
    Term{"Minimum distance", "How close the points of a map may lie: small distances make tight groups.",
         "min_dist"},
    Term{"Mixup", "Trains on a mixture of two images, of which each label counts by its share."},
    Term{"Momentum", "Lets updates gain speed where gradients keep pointing the same way."},
    Term{"MSE",
         "Mean squared error: the mean of the squared differences of two pictures, 0 if they are equal."},
    Term{"Neighbours",
         "How many images hold each image of a map: few show small groups, many the large ones.",
         "neighbours"},
    Term{"Network", "What each layer makes of an image, the filters, and the sum behind a single number."},
    Term{"Occupancy", "The share of the threads a multiprocessor can hold that a kernel keeps there."},
    Term{"Operation", "One kind of computation of a training step, such as conv2d.forward."},
    Term{"Optimizer", "The rule that makes an update of the weights from a gradient.", "rule"},
    Term{"Own kernels",
         "Kernels that you write while the training runs: proved, timed and put into it as you save."},
    Term{"Parameters", "The numbers that training changes: the weights and biases of all layers."},
    Term{"PCA", "Principal component analysis: the directions in which the latents differ most."},
    Term{"Perplexity",
         "How many neighbours an image of a map is to lie near: few show small groups, many the large ones."},
    Term{"Precision", "How many bits a number has in the products of a step: fp32, tf32, fp16 or bf16."},
    Term{"Predictions",
         "Images that the network never trains on with the classes it gives them, the worst first."},
    Term{"PSNR",
         "How close a picture is to the original, in decibels: 10 dB more is a tenth of the squared error.",
         "PSNR, dB;train PSNR"},
    Term{"Ranks",
         "What each process of a training does with a step: its own work, sums over all of them, and "
         "waiting."},
    Term{"Results", "The figures of this training so far."},
    Term{"Roofline",
         "A chart of speed over products per byte, whose roof is what the device can do at most."},
    Term{"Runs",
         "Earlier trainings, of this folder and recorded by windows; their curves can be laid over the "
         "present "
         "ones."},
    Term{"Schedule", "How the learning rate changes over the training."},
    Term{"Selection", "Which variant runs each operation, and the precision."},
    Term{"Share", "The part of the step's time that an operation takes."},
    Term{"Skipped step", "A step in FP16 whose gradients overflowed and which changed no weight.", "skipped"},
    Term{"SSIM", "How alike two pictures are in brightness, contrast and structure: 1 if they are equal."},
    Term{"Step", "One update of the weights from one batch.", "steps"},
    Term{"t-SNE",
         "A map that keeps the neighbours of each image: all push each other away, neighbours pull."},
    Term{"Tensor", "An array of numbers that an operation reads or writes."},
    Term{"TFLOP/s", "Trillions of additions and multiplications of floating-point numbers in a second."},
    Term{"Time", "The step as a timeline of its launches, as it is and before the last switch."},
    Term{"Tolerance", "The error that rounding by itself may cause, beyond which a result counts as wrong."},
    Term{"Training",
         "Learning rate, batch, optimizer, schedule and augmentation, which can be changed while it trains."},
    Term{"UMAP", "A map of the graph of nearest neighbours: its edges pull, random pairs push."},
    Term{"Update", "By how much one step changes the weights.", "updates"},
    Term{"Variant", "One implementation of an operation, from a plain loop to tensor cores."},
    Term{"Verify", "Holds every variant against a reference in double precision."},
    Term{"Views", "What the open views take from the training, as a share of the device's time."},
    Term{"Weight decay", "Keeps the weights small, so that the network does not lean on a few of them."},
    Term{"Weights", "The numbers of the network that training changes and that multiply what a layer gets."},
    Term{"Workspace", "Memory that a variant needs beside its operands while it runs."},
};

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

bool same(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_letter);
}

// Whether `label` is one of `words`, which stand between semicolons.
bool is_among(std::string_view words, std::string_view label) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(';'), words.size());
    if (words.substr(0, end) == label) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

}  // namespace

std::span<const Term> terms() {
  return kTerms;
}

const Term* find_term(std::string_view label) {
  if (label.empty()) return nullptr;
  const auto* const exact = std::find_if(kTerms.begin(), kTerms.end(), [label](const Term& term) {
    return label == term.name || is_among(term.also, label);
  });
  if (exact != kTerms.end()) return exact;
  const auto* const found = std::find_if(kTerms.begin(), kTerms.end(),
                                         [label](const Term& term) { return same(term.name, label); });
  return found == kTerms.end() ? nullptr : found;
}

std::string explain(std::string_view label) {
  if (const training::Figure* const figure = training::find_figure(label)) return figure_tip(*figure);
  if (const Term* const term = find_term(label)) return term->sentence;
  // "Head accuracy, %" over a plot is the figure "head accuracy".
  std::string name(label.substr(0, label.find(", ")));
  if (!name.empty()) name.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(name.front())));
  for (const std::string& each : {name, "train " + name}) {
    if (const training::Figure* const figure = training::find_figure(each)) return figure_tip(*figure);
  }
  return "";
}

std::string label_tip(std::string_view label, std::string_view more) {
  std::string tip = explain(label);
  if (!tip.empty() && !more.empty()) tip += '\n';
  return tip.append(more);
}

}  // namespace warpscope::ui
