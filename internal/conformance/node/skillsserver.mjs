// A server of the skills in a folder, its argument, built with the server of the skills extension (@olaservo/ext-skills) on the SDK.
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { discoverSkills, registerSkillResources } from '@olaservo/ext-skills/server';

const folder = process.argv[2];
serveStdio(() => {
  const server = new McpServer({ name: 'skills', version: '1' }, { capabilities: { resources: {} } });
  registerSkillResources(server, discoverSkills(folder), folder, { directoryRead: true });
  return server;
});
