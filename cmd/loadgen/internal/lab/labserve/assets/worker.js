"use strict";
// The simulator, as WebAssembly, off the page's own thread.
importScripts("wasm_exec.js");
const go = new Go();
const ready = fetch("lab.wasm").then(answer => {
	if (!answer.ok) throw new Error("lab.wasm: " + answer.status);
	return answer.arrayBuffer();
}).then(code => WebAssembly.instantiate(code, go.importObject)).then(({instance}) => { go.run(instance); });
onmessage = async ({data}) => {
	try {
		await ready;
		const [json, error] = labAnswer(data.op, data.query, data.lane || "");
		postMessage({id: data.id, json, error});
	} catch (e) {
		postMessage({id: data.id, error: e.message});
	}
};
