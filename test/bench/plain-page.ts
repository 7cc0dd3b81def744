import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface PlainMessage {
  author: string
  content: string
}

/**
 * The same messages without our code: one document that contains all of them and a text field. It shows what a browser
 * can do on this machine. Three lines of script add each message that its stream delivers.
 */
export async function servePlainPage(messages: readonly PlainMessage[]) {
  const listeners = new Set<(message: PlainMessage) => void>()
  const server = createServer((request, response) => {
    if (request.url === '/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const tell = (message: PlainMessage) => response.write(`data: ${JSON.stringify(message)}\n\n`)
      listeners.add(tell)
      request.on('close', () => listeners.delete(tell))
      response.flushHeaders()
      return
    }
    const wanted = Number(new URL(request.url!, 'http://plain').searchParams.get('last') ?? messages.length)
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(document(messages.slice(-wanted)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    say(message: PlainMessage) {
      for (const tell of listeners) tell(message)
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const article = ({ author, content }: PlainMessage) => `<article><b>${author}</b><p>${content}</p></article>`

const document = (
  messages: readonly PlainMessage[],
) => `<!doctype html><html lang="en"><meta charset="utf-8"><title>Plain</title>
<style>body{margin:0;height:100vh;display:flex;flex-direction:column;font:15px/1.46 sans-serif}main{flex:1;overflow:auto}article{padding:4px 16px}p{margin:0}</style>
<main>${messages.map(article).join('')}</main><textarea aria-label="Message"></textarea>
<script>const list=document.querySelector('main');list.scrollTop=list.scrollHeight
new EventSource('/events').onmessage=({data})=>{const {author,content}=JSON.parse(data);const a=document.createElement('article');a.append(Object.assign(document.createElement('b'),{textContent:author}),Object.assign(document.createElement('p'),{textContent:content}));list.append(a);list.scrollTop=list.scrollHeight}</script></html>`
