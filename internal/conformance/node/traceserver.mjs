// A server built on the SDK, on stdio, whose tool returns the trace context that came with the call.
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

serveStdio(() => {
  const server = new McpServer({ name: 'traced', version: '1' });
  server.registerTool('trace', { description: 'Returns the traceparent of the call.' },
    context => ({ content: [{ type: 'text', text: context.mcpReq._meta?.traceparent ?? 'none' }] }));
  return server;
});
