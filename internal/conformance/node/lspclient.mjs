// An editor: vscode-languageserver-protocol, the client library of Visual Studio Code. Its argument is a JSON object.
//   command    the language server of internal/examples/languageserver
//   transport  stdio, pipe or socket
// It prints what it saw.
import { spawn } from 'node:child_process';
import protocol from 'vscode-languageserver-protocol/node';

const { command, transport } = JSON.parse(process.argv[2]);
let option = '--stdio', connected;
if (transport === 'pipe') {
  const name = protocol.generateRandomPipeName();
  option = '--pipe=' + name;
  connected = await protocol.createClientPipeTransport(name);
} else if (transport === 'socket') {
  connected = await protocol.createClientSocketTransport(0);
  option = '--socket=' + connected.port();
}
const server = spawn(command, [option, '--clientProcessId=' + process.pid], { stdio: ['pipe', 'pipe', 'inherit'] });
const exited = new Promise(resolve => server.on('exit', resolve));
const [input, output] = connected ? await connected.onConnected() : [server.stdout, server.stdin];
const connection = protocol.createProtocolConnection(input, output, { error() {}, warn() {}, info() {}, log() {} });

const diagnostics = new Promise(resolve => connection.onNotification(protocol.PublishDiagnosticsNotification.type, resolve));
const failure = async promise => {
  try {
    return { result: await promise };
  } catch (error) {
    return { code: error.code, message: error.message };
  }
};
connection.listen();

const seen = {};
seen.initialize = await connection.sendRequest(protocol.InitializeRequest.type,
  { processId: process.pid, rootUri: null, capabilities: {} });
await connection.sendNotification(protocol.InitializedNotification.type, {});
const uri = 'file:///a.txt';
await connection.sendNotification(protocol.DidOpenTextDocumentNotification.type,
  { textDocument: { uri, languageId: 'plaintext', version: 1, text: 'Zoë 👋 waves\n👋 TODO\n' } });
seen.diagnostics = await diagnostics;
seen.hover = await connection.sendRequest(protocol.HoverRequest.type,
  { textDocument: { uri }, position: { line: 0, character: 9 } });
seen.unknown = await failure(connection.sendRequest('stdwire/unknown', {}));
seen.invalid = await failure(connection.sendRequest('textDocument/hover', { textDocument: { uri: 1 } }));

const source = new protocol.CancellationTokenSource();
const waiting = failure(connection.sendRequest(protocol.ExecuteCommandRequest.type, { command: 'wait' }, source.token));
await connection.sendRequest(protocol.HoverRequest.type, { textDocument: { uri }, position: { line: 0, character: 0 } });
source.cancel();
seen.cancelled = await waiting;

seen.shutdown = await connection.sendRequest(protocol.ShutdownRequest.type);
await connection.sendNotification(protocol.ExitNotification.type);
seen.exit = await exited;
console.log(JSON.stringify(seen));
process.exit();
