"""Models that crease wrote, checked by onnx and run by onnxruntime, beside crease's own numbers.

usage: onnx_runtimes.py CORPUS CREASE [NETWORKS]
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort

ort.set_default_logger_severity(4)
TYPES = {"f32": np.float32, "f64": np.float64}
# onnxruntime has no kernel for these in f64 on a CPU; docs/onnx.md says so
KNOWN = ("Erf(13)",)


def session(model):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def close(got, want, tolerance):
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    if got.shape != want.shape:
        return False
    size = np.max(np.abs(want)) if want.size else 0.0
    return bool(np.all(np.abs(got - want) <= tolerance * (1.0 + size)))


def corpus(folder):
    """Every operation, random and hostile programs: the number of agreements, of known gaps, and what is wrong."""
    agree, gaps, wrong = 0, 0, []
    for path in sorted(folder.glob("*.onnx")):
        case = json.loads(path.with_suffix(".json").read_text())
        name = f"{path.name} ({case['name']}, {case['dtype']})"
        try:
            onnx.checker.check_model(onnx.load(path), full_check=True)
        except Exception as e:  # noqa: BLE001
            wrong.append(f"{name}: checker: {str(e)[:300]}")
            continue
        kind = TYPES[case["dtype"]]
        feed = {n: np.array(t["data"], kind).reshape(t["shape"]) for n, t in case["inputs"]}
        try:
            run = session(str(path))
            given = {i.name for i in run.get_inputs()}
            got = run.run(None, {n: x for n, x in feed.items() if n in given})
        except Exception as e:  # noqa: BLE001
            if any(k in str(e) for k in KNOWN):
                gaps += 1
            else:
                wrong.append(f"{name}: onnxruntime: {str(e)[:300]}")
            continue
        want = [np.array(t["data"]).reshape(t["shape"]) for t in case["outputs"]]
        if len(got) == len(want) and all(close(g, w, case["tolerance"]) for g, w in zip(got, want)):
            agree += 1
        else:
            wrong.append(f"{name}: {got} is not {want}")
    return agree, gaps, wrong


def networks(crease, folder):
    """Values and gradients of networks by crease at random points, beside those of the exported models and of the models themselves."""
    agree, skipped, wrong = 0, [], []
    rng = np.random.default_rng(1)

    def tool(*args):
        done = subprocess.run([crease, *args], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip()[:200])
        return json.loads(done.stdout)

    with tempfile.TemporaryDirectory() as tmp:
        for path in sorted(folder.rglob("*.onnx")):
            name = str(path.relative_to(folder))
            try:
                value = tool("export", str(path), "--dtype", "f32", "-o", f"{tmp}/v.onnx", "--json")
            except RuntimeError as e:
                skipped.append(f"{name}: {e}")
                continue
            point = {i["name"]: rng.uniform(-0.5, 0.5, i["shape"]).astype(np.float32) for i in value["inputs"]}
            pathlib.Path(f"{tmp}/at.json").write_text(json.dumps({k: v.tolist() for k, v in point.items()}))
            try:
                onnx.checker.check_model(onnx.load(f"{tmp}/v.onnx"), full_check=True)
                got = session(f"{tmp}/v.onnx").run(None, point)
                # the file itself, in the same runtime, where its shapes are those of the program
                original = session(str(path)).run(None, {i.name: point[i.name].astype(
                    {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(double)": np.float64}.get(i.type, np.float32)
                ) for i in session(str(path)).get_inputs()})
                same = all(close(g.ravel(), o.ravel(), 1e-3) for g, o in zip(got, original))
                if not same:
                    wrong.append(f"{name}: the exported value is not that of the file")
                for dtype, tolerance in (("f64", 1e-9), ("f32", 1e-3)):
                    flags = ["--element", "0", "--select", "torch"]
                    tool("export", str(path), "--value-and-grad", *flags, "--dtype", dtype, "-o", f"{tmp}/g.onnx", "--json")
                    onnx.checker.check_model(onnx.load(f"{tmp}/g.onnx"), full_check=True)
                    out = session(f"{tmp}/g.onnx").run(None, {k: v.astype(TYPES[dtype]) for k, v in point.items()})
                    want = tool("grad", str(path), *flags, "--at", f"{tmp}/at.json", "--float", "--json")
                    gradient = [np.array(want["gradient"][i["name"]] if i["name"] in want["gradient"] else
                                         list(want["gradient"].values())[k]) for k, i in enumerate(value["inputs"])]
                    for g, w in zip(out, [np.array(want["value"]), *gradient]):
                        if not close(np.ravel(g), np.ravel(w), tolerance):
                            wrong.append(f"{name}, {dtype}: off by {np.max(np.abs(np.ravel(g) - np.ravel(w)))}")
                            break
                    else:
                        agree += 1
            except Exception as e:  # noqa: BLE001
                wrong.append(f"{name}: {str(e)[:300]}")
    return agree, skipped, wrong


def main():
    folder, crease = pathlib.Path(sys.argv[1]), sys.argv[2]
    print(f"onnx {onnx.__version__}, onnxruntime {ort.__version__}")
    agree, gaps, wrong = corpus(folder)
    print(f"programs: {agree} agree, {gaps} have operators that onnxruntime lacks in f64, {len(wrong)} are wrong")
    if len(sys.argv) > 3:
        more, skipped, faults = networks(crease, pathlib.Path(sys.argv[3]))
        print(f"networks: {more} gradients agree, {len(skipped)} networks are not read, {len(faults)} are wrong")
        for line in skipped:
            print(f"  not read: {line}")
        wrong += faults
    else:
        print("networks: skipped, none were given")
    for line in wrong[:40]:
        print(f"  WRONG {line}")
    sys.exit(1 if wrong else 0)


main()
