// The graph that langgraph.mjs serves.
import { ChatOpenAI } from '@langchain/openai';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

const model = new ChatOpenAI({
  model: 'fake-model', apiKey: 'none', streaming: true, configuration: { baseURL: process.env.MODEL_URL },
});
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('answer', async (state) => ({ messages: [await model.invoke(state.messages)] }))
  .addEdge(START, 'answer')
  .addEdge('answer', END)
  .compile();
