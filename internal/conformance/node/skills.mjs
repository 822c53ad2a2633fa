// The client of the skills extension (@olaservo/ext-skills) on the SDK. It reads all files of all skills of a server, and prints what it
// saw. Its argument is a JSON object:
//   era      what the SDK is to negotiate: legacy or {"pin": REVISION}
//   command  the server, and its arguments
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { frontmatterMatchesEntry, getSkill, listSkills, manifestOf, readDirectory, readSkill, readSkillResource,
  serverSupportsDirectoryRead, serverSupportsSkills, walkDirectory } from '@olaservo/ext-skills/client';

const { era, command } = JSON.parse(process.argv[2]);
const client = new Client({ name: 'conformance', version: '1' }, { versionNegotiation: { mode: era } });
await client.connect(new StdioClientTransport({ command: command[0], args: command.slice(1), stderr: 'inherit' }));
const seen = { supported: serverSupportsSkills(client), directories: serverSupportsDirectoryRead(client), skills: [] };
for (const entry of await listSkills(client)) {
  const root = entry.uri.slice(0, -'/SKILL.md'.length);
  const text = await readSkill(client, entry);
  const files = {};
  for (const { uri } of manifestOf(entry)) {
    const file = await readSkillResource(client, entry, uri); // it throws unless size and digest are right
    files[uri.slice(root.length + 1)] = (file.text ?? file.blob).length;
  }
  seen.skills.push({
    uri: entry.uri, same: JSON.stringify(await getSkill(client, entry.uri)) === JSON.stringify(entry),
    frontmatter: frontmatterMatchesEntry(text, entry), files, children: (await readDirectory(client, root)).resources.length,
    walked: (await walkDirectory(client, root)).length,
  });
}
const refused = await getSkill(client, 'skill://none/SKILL.md').catch(error => error);
seen.none = refused.code;
await client.close();
console.log(JSON.stringify(seen));
