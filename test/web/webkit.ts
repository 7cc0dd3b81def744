import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { freePort } from '@parley/embedded'
import { type DrivenBrowser, findProgram } from './driven-browser.ts'

const driver = findProgram('WebKitWebDriver')
const display = findProgram('Xvfb')

/** The reason why WebKit cannot be used, or null. */
export const whyNoWebKit =
  driver && display ? null : 'WebKitGTK is not installed: apt-get install webkit2gtk-driver xvfb'

const elementKey = 'element-6066-11e4-a52e-4f735466cecf'

/** Starts the browser of WebKitGTK, the engine of Safari, on a screen of its own, and controls it through WebDriver. */
export async function startWebKit(): Promise<DrivenBrowser> {
  const screen = spawn(display!, ['-displayfd', '3', '-screen', '0', '1400x1000x24', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  })
  const [displayNumber] = (await once(screen.stdio[3] as Readable, 'data')) as [Buffer]
  const port = await freePort()
  const child = spawn(driver!, [`--port=${port}`], {
    stdio: 'ignore',
    env: { ...process.env, DISPLAY: `:${String(displayNumber).trim()}` },
  })

  async function send(method: string, command: string, body?: object): Promise<unknown> {
    const response = await fetch(`http://127.0.0.1:${port}${command}`, {
      method,
      ...(body && { body: JSON.stringify(body) }),
    })
    const { value } = (await response.json()) as { value: unknown }
    if (!response.ok) throw new Error(`${method} ${command}: ${JSON.stringify(value)}`)
    return value
  }
  // The driver does not say when it listens.
  while (!(await send('GET', '/status').catch(() => undefined))) {
    if (child.exitCode !== null) throw new Error('WebKitWebDriver ended')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const { sessionId } = (await send('POST', '/session', { capabilities: {} })) as { sessionId: string }
  const session = `/session/${sessionId}`
  await send('POST', `${session}/window/rect`, { width: 1280, height: 840 })

  return {
    open: async (url) => void (await send('POST', `${session}/url`, { url })),
    back: async () => void (await send('POST', `${session}/back`, {})),
    async run(script, ...args) {
      const result = (await send('POST', `${session}/execute/async`, {
        script: `
          const [args, done] = arguments
          new Promise((resolve) => resolve((${script})(...args))).then((value) => done({ value }), (error) => done({ error: String(error) }))
        `,
        args: [args],
      })) as { value: never; error?: string }
      if (result.error !== undefined) throw new Error(result.error)
      return result.value
    },
    perform: async (source) => void (await send('POST', `${session}/actions`, { actions: [source] })),
    async chooseFile(selector, file) {
      const found = await send('POST', `${session}/element`, { using: 'css selector', value: selector })
      const id = (found as Record<string, string>)[elementKey]
      await send('POST', `${session}/element/${id}/value`, { text: file })
    },
    async close() {
      await send('DELETE', session)
      for (const each of [child, screen]) {
        const exited = once(each, 'exit')
        each.kill()
        await exited
      }
    },
  }
}
