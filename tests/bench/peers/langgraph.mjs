// LangGraph's own server as its command line tool starts it for development, with its storage in memory, and a graph
// of one node that asks a model. Started by peers.py: PORT, WORKERS (how many runs at once), GRAPH (FILE:NAME), and for
// that MODEL_URL. What it writes below its folder it never reads again.
import { startServer } from '@langchain/langgraph-api/server';

if (process.env.LANGSMITH_TRACING === 'true') throw new Error('traces would leave the machine');
await startServer({
  host: '127.0.0.1', port: Number(process.env.PORT), nWorkers: Number(process.env.WORKERS), cwd: process.cwd(),
  graphs: { agent: process.env.GRAPH },
});
console.log('ready');
