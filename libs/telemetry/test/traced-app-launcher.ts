import { fork } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

interface TracedApp {
  get(path: string): Promise<Reply>
  post(path: string, body?: object): Promise<Reply>
  /** Stops the app, which sends its traces first. Returns its log lines. */
  stop(): Promise<Record<string, unknown>[]>
}

export interface Reply {
  traceparent?: string | null
}

/** Starts the traced app with the preload, an environment of only `env`, and `args` on its command line. */
export async function startTracedApp(env: Record<string, string>, args: string[] = []): Promise<TracedApp> {
  const child = fork(new URL('traced-app.ts', import.meta.url), args, {
    execArgv: ['--import', new URL('../src/preload.ts', import.meta.url).href],
    env,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  if (!child.stdout) throw new Error('the traced app has no output')
  const output = text(child.stdout)
  const exited = once(child, 'exit')
  const [port] = await Promise.race([once(child, 'message'), exited.then(() => fails('the traced app did not start'))])

  const ask = async (method: string, path: string, body?: object): Promise<Reply> => {
    const init = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, { method, ...init })
    const answer = await reply.text()
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${answer}`)
    return answer.startsWith('{') ? JSON.parse(answer) : {}
  }

  return {
    get: (path) => ask('GET', path),
    post: (path, body = {}) => ask('POST', path, body),
    async stop() {
      child.disconnect()
      await exited
      return (await output)
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    },
  }
}

function fails(message: string): never {
  throw new Error(message)
}
