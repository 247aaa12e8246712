// Images of a run's requests: whether the model takes them, when they are checked, and the bytes that
// it gets. Called by the model turn before each request. The run's parts keep no bytes, so that a
// run that waits holds no image.
#pragma once

#include <optional>

#include "runner/agent/agent_services.h"
#include "runner/agent/run_parts.h"
#include "runner/models/run_failure.h"

namespace hostler::runner {

// Most bytes of images in one request. In base64 they fit the 32 MiB that providers take.
constexpr int64_t request_image_bytes_max = int64_t{20} << 20;
// Most images of a request, as Anthropic's API documents it.
constexpr size_t request_images_max = 100;

// Why the route cannot be asked: a request to it has an image, and its model takes none.
std::optional<RunFailure> lacks_images(const RunParts& parts, const Route& route);

// Waits until the images of the next request are checked, and notes their sizes in the history. An
// image whose file is gone becomes a line of text. Of too many images the oldest become one, too.
// Throws RunFailure:
//   runs.input_unsupported   the model takes no images
//   files.refused            a file did not pass its check
//   files.not_ready          a check took longer than files.check_seconds
//   model.context_exceeded   the newest message has too many images
// parts outlives the task.
Task<void> await_images(AgentServices& services, RunPtr run, RunParts& parts);

// Bytes that the images of the request have in base64, loaded or not.
size_t sent_image_bytes(const ModelRequest& request);

// Loads the bytes of the request's images. A file that was deleted meanwhile becomes a line.
// request outlives the task.
Task<void> load_images(AgentServices& services, RunPtr run, ModelRequest& request);

}  // namespace hostler::runner
