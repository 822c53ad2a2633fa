// Checks OpenAPI documents with programs that know nothing of this module. Each argument is a file with
//   document  the document
//   cases     values, each with the JSON Pointer of its schema in the document, and whether it is to fit
// and what is wrong is printed, line by line.
import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

let wrong = 0;
const complain = (file, what, details) => { wrong++; console.log(`${file}: ${what}: ${JSON.stringify(details)}`); };

for (const file of process.argv.slice(2)) {
  const { document, cases } = JSON.parse(readFileSync(file));
  const validator = new Validator();
  const verdict = await validator.validate(structuredClone(document));
  if (!verdict.valid || validator.version !== '3.1') complain(file, 'OpenAPI', verdict.errors ?? validator.version);

  // The schemas: of their dialect, with references that lead somewhere, and right about the examples.
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats(ajv);
  ajv.addSchema(document, 'https://document.test/');
  const schemaAt = pointer => ajv.compile({ $ref: 'https://document.test/#' + pointer.split('/').map(encodeURIComponent).join('/') });
  const escape = name => name.replaceAll('~', '~0').replaceAll('/', '~1');
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    if (!/^[a-zA-Z0-9._-]+$/.test(name)) complain(file, 'name of a component', name);
    if (!ajv.validateSchema(schema)) complain(file, name, ajv.errors);
    try {
      schemaAt('/components/schemas/' + name);
    } catch (error) {
      complain(file, name, error.message);
    }
  }
  const ids = [];
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      ids.push(operation.operationId);
      const at = `/paths/${escape(path)}/${method}/requestBody/content/application~1json`;
      for (const [name, example] of Object.entries(operation.requestBody?.content['application/json'].examples ?? {})) {
        cases.push({ schema: at + '/schema', value: example.value, fits: true, name });
      }
    }
  }
  if (new Set(ids).size !== ids.length) complain(file, 'operationId', ids);
  for (const { schema, value, fits } of cases) {
    const check = schemaAt(schema);
    if (check(value) !== fits) complain(file, schema, { value, fits, errors: check.errors });
  }
}
process.exit(wrong ? 1 : 0);
