#!/usr/bin/env node
// This file runs on every Node.js. An older one starts the Node.js in node_modules, which runs TypeScript.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const [major, minor] = process.versions.node.split('.').map(Number)

if (major > 24 || (major === 24 && minor >= 11)) {
  const { main } = await import('./main.ts')
  // The image does not contain this package. In the image the database is always configured.
  const embedded = await import('@parley/embedded').catch((error) => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
  })
  process.exitCode = await main(process.argv.slice(2), embedded?.storedPostgresUrl)
} else {
  const own = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url))
  if (!existsSync(own)) {
    process.stderr.write(
      `parley needs Node.js 24.11 or newer, and this is ${process.versions.node}. "npm ci" in the folder of Parley installs one.\n`,
    )
    process.exit(1)
  }
  const child = spawn(own, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code) => process.exit(code ?? 1))
}
