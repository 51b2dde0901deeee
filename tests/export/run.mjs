// SPDX-License-Identifier: Apache-2.0
// node run.mjs FOLDER…: in each folder runs model.onnx by onnxruntime-web on the batch in `observations`, and on its first
// observation alone, and writes each output as NAME and NAME.first; whole numbers become floats.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const ort = createRequire(join(process.cwd(), "package.json"))("onnxruntime-web");
ort.env.wasm.numThreads = 1;

for (const folder of process.argv.slice(2)) {
  const session = await ort.InferenceSession.create(readFileSync(join(folder, "model.onnx")));
  const shape = JSON.parse(readFileSync(join(folder, "shape.json")));
  const bytes = readFileSync(join(folder, "observations"));
  const images = shape.length > 1;
  const all = images
    ? new Uint8Array(bytes)
    : new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const size = shape.reduce((product, n) => product * n, 1);
  for (const [count, ending] of [[all.length / size, ""], [1, ".first"]]) {
    const observation = new ort.Tensor(images ? "uint8" : "float32", all.subarray(0, count * size), [count, ...shape]);
    const results = await session.run({ observation });
    for (const [name, tensor] of Object.entries(results)) {
      if (tensor.dims[0] !== count) throw new Error(`${name} has the shape ${tensor.dims}`);
      writeFileSync(join(folder, name + ending), new Uint8Array(Float32Array.from(tensor.data, Number).buffer));
    }
  }
}
