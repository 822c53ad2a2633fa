// Takes the schemas of tools as hosts do, and prints how many tools there are and what each host refuses. Its argument is a JSON object:
//   tools    definitions, as of tools/list; or instead of it
//   command  a server, which the clients of both SDKs ask in both eras
//
//   OpenAI     @openai/agents-core, whose strict mode takes the schema or says why not
//   Google     @google/genai, which converts it for a request; here a server of this program answers it
//   Anthropic  the rules that it publishes for names: ^[a-zA-Z0-9_-]{1,64}$, and ^[a-zA-Z0-9_.-]{1,64}$ of properties
//   Ajv        compiles input and output schemas, as the SDKs do
import { createServer } from 'node:http';
import { mcpToFunctionTool } from '@openai/agents-core';
import { GoogleGenAI } from '@google/genai';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const { tools = [], command } = JSON.parse(process.argv[2]);
for (const [sdk, ...mode] of command ? [['sdk'], ['client', { pin: '2026-07-28' }], ['client', 'legacy']] : []) {
  const [{ Client }, { StdioClientTransport }] = await Promise.all((sdk === 'sdk' ? ['sdk/client/index.js', 'sdk/client/stdio.js']
    : ['client', 'client/stdio']).map(module => import('@modelcontextprotocol/' + module)));
  const client = new Client({ name: 'conformance', version: '1' }, mode.length ? { versionNegotiation: { mode: mode[0] } } : {});
  await client.connect(new StdioClientTransport({ command: command[0], args: command.slice(1), stderr: 'inherit' }));
  tools.push(...(await client.listTools()).tools);
  await client.close();
}
const refused = [];
const attempt = async (by, tool, what) => {
  try {
    await what();
  } catch (error) {
    refused.push({ by, tool: tool.name, why: error.message });
  }
};
const walk = (schema, visit) => {
  if (typeof schema !== 'object' || schema === null) {
    visit(schema);
    return;
  }
  visit(schema);
  for (const name of ['properties', '$defs']) Object.values(schema[name] ?? {}).forEach(s => walk(s, visit));
  for (const name of ['anyOf', 'oneOf', 'allOf']) (schema[name] ?? []).forEach(s => walk(s, visit));
  if (schema.items !== undefined) walk(schema.items, visit);
  if (schema.additionalProperties !== undefined && schema.additionalProperties !== false) walk(schema.additionalProperties, visit);
};

const server = createServer((request, response) => {
  request.resume();
  response.setHeader('Content-Type', 'application/json');
  response.end('{"candidates":[]}');
});
await new Promise(done => server.listen(0, '127.0.0.1', done));
const google = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: `http://127.0.0.1:${server.address().port}` } });

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
for (const tool of tools) {
  await attempt('openai', tool, () => {
    const converted = mcpToFunctionTool(tool, { name: 'server', callTool() {} }, true);
    if (!converted.strict) throw new Error('it is not converted to strict mode');
  });
  for (const name of ['inputSchema', 'outputSchema']) {
    if (!tool[name]) continue;
    await attempt('google', tool, () => google.models.generateContent({ model: 'gemini', contents: 'x', config: { responseSchema: structuredClone(tool[name]) } }));
    await attempt('ajv', tool, () => ajv.compile(tool[name]));
    await attempt('rules', tool, () => walk(tool[name], schema => {
      if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) throw new Error(`${name}: ${JSON.stringify(schema)} is no schema object`);
      if (Array.isArray(schema.type)) throw new Error(`${name}: type ${JSON.stringify(schema.type)}`);
      if (schema.enum?.includes(null)) throw new Error(`${name}: null in an enum`);
      for (const keyword of ['propertyNames', 'contentEncoding', 'patternProperties', 'not', 'allOf', 'oneOf']) {
        if (keyword in schema) throw new Error(`${name}: ${keyword}`);
      }
      for (const key of Object.keys(schema.properties ?? {})) {
        if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(key)) throw new Error(`${name}: the property ${key}`);
      }
    }));
  }
  await attempt('anthropic', tool, () => {
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(tool.name)) throw new Error('the name');
    if (tool.inputSchema.type !== 'object') throw new Error('the type');
    for (const name of ['anyOf', 'oneOf', 'allOf']) if (name in tool.inputSchema) throw new Error(`${name} at the top`);
  });
}
server.close();
server.closeAllConnections();
console.log(JSON.stringify({ tools: tools.length, refused }));
