import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type DrivenBrowser, findProgram } from './driven-browser.ts'

const program = findProgram('firefox-esr', 'firefox')

/** The reason why Firefox cannot be used, or null. */
export const whyNoFirefox = program ? null : 'Firefox is not installed: apt-get install firefox-esr'

const preferences = {
  'app.update.disabledForTesting': true,
  'browser.shell.checkDefaultBrowser': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'toolkit.telemetry.reportingpolicy.firstRun': false,
}

interface Reply {
  id?: number
  result: Record<string, unknown>
  error?: string
  message?: string
}

/** Starts Firefox without a window, and controls it through WebDriver BiDi, which it has built in. */
export async function startFirefox(): Promise<DrivenBrowser> {
  const profile = await mkdtemp(path.join(tmpdir(), 'parley-firefox-'))
  const lines = Object.entries(preferences).map(([name, value]) => `user_pref("${name}", ${value});`)
  await writeFile(path.join(profile, 'user.js'), lines.join('\n'))
  const child = spawn(program!, ['--headless', '--no-remote', '--profile', profile, '--remote-debugging-port', '0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = once(child, 'exit')
  const address = await new Promise<string>((resolve, reject) => {
    let output = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text
      const [, found] = /WebDriver BiDi listening on (ws:\S+)/.exec(output) ?? []
      if (found) resolve(found)
    })
    void exited.then(() => reject(new Error(`Firefox ended:\n${output}`)))
  })

  const socket = new WebSocket(`${address}/session`)
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', () => reject(new Error('Firefox refused the connection')))
  })
  const waiting = new Map<number, (reply: Reply) => void>()
  socket.addEventListener('message', ({ data }) => {
    const reply = JSON.parse(String(data)) as Reply
    if (reply.id !== undefined) waiting.get(reply.id)?.(reply)
  })
  let sent = 0
  async function send(method: string, params: object): Promise<Record<string, unknown>> {
    const id = ++sent
    socket.send(JSON.stringify({ id, method, params }))
    const reply = await new Promise<Reply>((resolve) => waiting.set(id, resolve))
    waiting.delete(id)
    if (reply.error) throw new Error(`${method}: ${reply.error}: ${reply.message}`)
    return reply.result
  }

  await send('session.new', { capabilities: {} })
  const { contexts } = (await send('browsingContext.getTree', {})) as { contexts: { context: string }[] }
  const { context } = contexts[0]!
  await send('browsingContext.setViewport', { context, viewport: { width: 1280, height: 800 } })

  async function call(functionDeclaration: string, argument: string) {
    const called = (await send('script.callFunction', {
      functionDeclaration,
      arguments: [{ type: 'string', value: argument }],
      target: { context },
      awaitPromise: true,
    })) as { exceptionDetails?: { text: string }; result: { value?: string; sharedId?: string } }
    if (called.exceptionDetails) throw new Error(called.exceptionDetails.text)
    return called.result
  }

  return {
    open: async (url) => void (await send('browsingContext.navigate', { context, url, wait: 'complete' })),
    back: async () => void (await send('browsingContext.traverseHistory', { context, delta: -1 })),
    async run(script, ...args) {
      const { value } = await call(
        `async (args) => JSON.stringify(await (${script})(...JSON.parse(args)))`,
        JSON.stringify(args),
      )
      return value === undefined ? undefined : JSON.parse(value)
    },
    perform: async (source) => void (await send('input.performActions', { context, actions: [source] })),
    async chooseFile(selector, file) {
      const { sharedId } = await call('(selector) => document.querySelector(selector)', selector)
      await send('input.setFiles', { context, element: { sharedId }, files: [file] })
    },
    async close() {
      socket.close()
      child.kill()
      await exited
      await rm(profile, { recursive: true, force: true })
    },
  }
}
