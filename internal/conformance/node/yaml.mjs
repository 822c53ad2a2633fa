// Reads YAML documents as the package yaml does, to compare. Standard input is a JSON array of documents; the output is an array of
// {value} or {error}.
import { text } from 'node:stream/consumers';
import { parse } from 'yaml';

const read = document => {
  try {
    // the default of the package is YAML 1.2 with the core schema and unique keys
    return { value: parse(document, { logLevel: 'error' }) };
  } catch (error) {
    return { error: error.message };
  }
};
process.stdout.write(JSON.stringify(JSON.parse(await text(process.stdin)).map(read)));
