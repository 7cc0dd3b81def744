import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Message } from '@parley/contract'
import { freePort } from '@parley/embedded'
import { testEnvironment } from '@parley/test/test-environment'
import { expect, onTestFinished, test } from 'vitest'
import { findDebianProgram } from '../src/debian-program.ts'
import { root } from './rendered.ts'

const environment = testEnvironment()
const inNamespace = ['--map-root-user', '--mount']
const found = await findDebianProgram({
  name: 'prometheus-alertmanager',
  package: 'prometheus-alertmanager',
  path: 'usr/bin/prometheus-alertmanager',
})
const why = await missing()

/** Why Alertmanager cannot be started here. Empty when it can. */
async function missing(): Promise<string> {
  if ('missing' in found) return ` (skipped: ${found.missing})`
  const trial = promisify(execFile)('unshare', [...inNamespace, 'true']).catch((error: Error) => error)
  return (await trial) instanceof Error ? ' (skipped: this machine allows no namespace of its own for files)' : ''
}

/**
 * Alertmanager with the configuration of the compose file, except for a shorter wait before it posts. Returns its
 * address.
 */
async function startAlertmanager(webhookUrl: string): Promise<string> {
  const { command, env } = found as Extract<typeof found, { command: string }>
  const directory = await mkdtemp(path.join(tmpdir(), 'parley-alertmanager-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const urlFile = path.join(directory, 'webhook-url')
  const configFile = path.join(directory, 'alertmanager.yml')
  const composed = await readFile(path.join(root, 'deploy/observability/alertmanager.yaml'), 'utf8')
  const config = composed
    .replace('api_url_file: /tmp/webhook-url', `api_url_file: ${urlFile}`)
    .replace('group_wait: 30s', 'group_wait: 0s\n  group_interval: 1s')
  expect(config).toContain(urlFile)
  await writeFile(urlFile, webhookUrl)
  await writeFile(configFile, config)

  const address = `127.0.0.1:${await freePort()}`
  // Debian's build reads its templates from /usr/share, where they are not installed. The folder of the package is
  // mounted there, for this process only.
  const share = path.join(path.dirname(command), '../share')
  const mounting = `[ ! -d "$1" ] || mount --bind "$1" /usr/share; shift; exec "$@"`
  const server = spawn(
    'unshare',
    [
      ...[...inNamespace, 'sh', '-c', mounting, 'sh', share, command],
      `--config.file=${configFile}`,
      `--storage.path=${directory}`,
      '--cluster.listen-address=',
      `--web.listen-address=${address}`,
    ],
    { env: { ...process.env, ...env }, stdio: 'ignore' },
  )
  onTestFinished(async () => {
    if (server.exitCode !== null) return
    server.kill()
    await once(server, 'exit')
  })
  const isReady = () =>
    fetch(`http://${address}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  await expect.poll(isReady).toBe(true)
  return `http://${address}`
}

test.skipIf(why)(`Alertmanager itself posts to a channel that an alert fires, and that it is over${why}`, async () => {
  const { ada, ann } = environment.people
  const { open } = environment.channel
  const { webhook } = (await ada.post('/webhooks', { name: 'Alertmanager', channelId: open.id })).body
  const alertmanager = await startAlertmanager(environment.baseUrl + new URL(webhook.url).pathname)
  const alert = {
    labels: { alertname: 'ParleyServiceDown', service: 'messaging', severity: 'critical' },
    annotations: { summary: 'No replica of messaging answers', runbook: 'docs/runbook.md#parleyservicedown' },
  }
  const tells = async (change: object = {}) => {
    const body = JSON.stringify([{ ...alert, ...change }])
    const headers = { 'content-type': 'application/json' }
    expect((await fetch(`${alertmanager}/api/v2/alerts`, { method: 'POST', headers, body })).status).toBe(200)
  }
  const stream = await ann.opensStream()
  const posted = async (title: string): Promise<Message> =>
    (await stream.waitFor('NEW_MESSAGE', ({ content }) => content.includes(title))).payload

  await tells()
  const firing = await posted('FIRING: ParleyServiceDown')
  expect(firing).toMatchObject({ channelId: open.id, author: { isBot: true, webhookName: 'Alertmanager' } })
  expect(firing.content).toContain('No replica of messaging answers (critical, docs/runbook.md#parleyservicedown)')
  expect(firing.blocks).toMatchObject([{ type: 'attachment', color: expect.stringMatching(/^#/) }])

  await tells({ endsAt: new Date(Date.now() - 1).toISOString() })
  const resolved = await posted('RESOLVED: ParleyServiceDown')
  expect(resolved.blocks).not.toMatchObject([{ color: (firing.blocks[0] as { color: string }).color }])
  await stream.close()
})
