#!/usr/bin/env bash
# Everything that needs a GPU, in one go: variants against the reference, compute-sanitizer, the loss curves of all
# variants against PyTorch, training on images, and the window with both image paths.
#
#   tests/gpu/run.sh BUILD [OUT] [PART...]      parts: ops sanitizer curve train memory window (default: all)
#
# BUILD holds a build with CUDA for this GPU; OUT (default: gpu-results) gets logs, runs and screenshots. A part whose
# means are missing (compute-sanitizer, PyTorch, a display) says so and counts as skipped. Prints a summary; the exit code is
# the number of parts that failed.
set -uo pipefail
build=$(cd "${1:?usage: run.sh BUILD [OUT] [PART...]}" && pwd)
out=${2:-gpu-results}
shift $(($# > 1 ? 2 : 1))
parts=${*:-ops sanitizer curve train memory window}
here=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$out"
out=$(cd "$out" && pwd)
summary=""
failed=0

verdict() { # name, exit code
  case $2 in
    0) summary+="$1: passed"$'\n' ;;
    77) summary+="$1: skipped"$'\n' ;;
    *) summary+="$1: FAILED ($2)"$'\n'; failed=$((failed + 1)) ;;
  esac
}

part_ops() {
  "$build"/tests/test_ops --gtest_filter='*cuda*' --gtest_brief=1 >"$out/ops.log" 2>&1
  local code=$?
  tail -n 4 "$out/ops.log"
  return $code
}

part_sanitizer() {
  command -v compute-sanitizer >/dev/null || { echo "no compute-sanitizer"; return 77; }
  local code=0
  for tool in memcheck racecheck initcheck synccheck; do
    timeout 150 compute-sanitizer --tool "$tool" --error-exitcode 9 --launch-timeout 60 \
      "$build"/tests/test_ops --gtest_filter='*cuda*' --gtest_brief=1 >"$out/sanitizer-$tool.log" 2>&1
    local result=$?
    echo "$tool: exit $result, $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$out/sanitizer-$tool.log" | tail -n 1)"
    [ $result -eq 0 ] || code=1
  done
  return $code
}

part_curve() {
  python3 "$here"/tests/peers/torch_curve.py "$build"/warpscope 50 64 2>&1 | tee "$out/curve.log"
  return "${PIPESTATUS[0]}"
}

part_train() {
  local code=0
  for select in all=naive all=implicit_gemm; do
    local run="$out/run-${select#all=}"
    rm -rf "$run"
    local steps=(--epochs 1)
    [ "$select" = all=naive ] && steps=(--steps 100)
    "$build"/warpscope train --device cuda:0 --select "$select" "${steps[@]}" --run-dir "$run" >"$out/train-${select#all=}.log" 2>&1 || code=1
    tail -n 7 "$out/train-${select#all=}.log"
    gzip -f "$run/metrics.jsonl"
  done
  return $code
}

# Another process holds nearly all memory of the GPU: a sentence, exit code 1, and the saved weights of before still whole.
part_memory() {
  python3 -c 'import torch' 2>/dev/null || { echo "no PyTorch to fill the memory with"; return 77; }
  python3 - "$out/filled" <<'PYTHON' &
import pathlib, sys, time, torch
free, _ = torch.cuda.mem_get_info()
held = torch.empty(free - (600 << 20), dtype=torch.uint8, device="cuda")
pathlib.Path(sys.argv[1]).touch()
time.sleep(60)
PYTHON
  local holder=$! code=0
  for _ in $(seq 100); do [ -e "$out/filled" ] && break; sleep 0.2; done
  echo before >"$out/weights.safetensors"
  "$build"/warpscope train --data builtin --device cuda:0 --batch 1024 --steps 5 --save "$out/weights.safetensors" >"$out/memory.log" 2>&1
  local result=$?
  tail -n 1 "$out/memory.log"
  [ $result -eq 1 ] && grep -q 'does not fit\|MiB of memory free' "$out/memory.log" || { echo "exit $result"; code=1; }
  [ "$(cat "$out/weights.safetensors")" = before ] || code=1
  kill $holder
  wait $holder 2>/dev/null
  rm -f "$out/filled" "$out/weights.safetensors"
  return $code
}

part_window() {
  [ -n "${DISPLAY:-}" ] || { echo "no display"; return 77; }
  local code=0
  for vendor in nvidia mesa; do
    local trace="$out/trace-$vendor.jsonl"
    rm -f "$trace"
    __GLX_VENDOR_LIBRARY_NAME=$vendor WARPSCOPE_UI_TRACE=$trace timeout 90 "$build"/warpscope --device cuda:0 \
      --window-size 1600x1000 --exit-after-steps 3000 --screenshot "$out/window-$vendor.png" >"$out/window-$vendor.log" 2>&1 || code=1
    local expected=shared
    [ $vendor = mesa ] && expected=copied
    local seen
    seen=$(grep '"images"' "$trace" | tail -n 1)
    echo "$vendor: $seen"
    grep -q "\"path\":\"$expected\"" <<<"$seen" || { echo "expected the $expected path"; code=1; }
    [ $expected = copied ] || grep -q '"image_bytes_to_host":0[,}]' <<<"$seen" || { echo "image bytes were read back"; code=1; }
  done
  return $code
}

for part in $parts; do
  echo "== $part"
  start=$(date +%s)
  "part_$part"
  code=$?
  verdict "$part ($(($(date +%s) - start)) s)" $code
done
echo "== summary"
printf '%s' "$summary"
exit $failed
