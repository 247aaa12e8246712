// The page of ui_reloads.cjs: useChat as an app uses it, its state laid open for the test.
import { createElement, useEffect } from 'react';
import { createRoot } from 'react-dom/client';
import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport } from 'ai';

const { token, chat } = Object.fromEntries(new URLSearchParams(window.location.hash.slice(1)));
const headers = { authorization: `Bearer ${token}` };
const api = '/v1/ui/chat';

const read = () => fetch(`${api}/${chat}/messages?limit=200`, { headers }).then((answer) => answer.json());

function Chat({ known }) {
  const transport = new DefaultChatTransport({ api, headers });
  const { messages, status, error, sendMessage, resumeStream, setMessages } = useChat({ id: chat, messages: known, transport });
  // A run that ended behind the first look and before the second stands in the messages now.
  useEffect(() => {
    resumeStream().then(read).then((now) => {
      setMessages((shown) => (now.length > shown.length ? now : shown));
      window.isTakenUp = true;
    });
  }, []);
  useEffect(() => {
    window.shown = { messages, status, error: error && error.message };
    window.say = (text) => { sendMessage({ text }); };
  });
  return createElement('pre', null, JSON.stringify(messages));
}

createRoot(document.body).render(createElement(Chat, { known: await read() }));
