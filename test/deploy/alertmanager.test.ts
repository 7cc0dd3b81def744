import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { findDebianProgram } from '../src/debian-program.ts'
import { composition } from './composition.ts'
import { root } from './rendered.ts'

const run = promisify(execFile)
const file = path.join(root, 'deploy/observability/alertmanager.yaml')
const amtool = await findDebianProgram({
  name: 'amtool',
  package: 'prometheus-alertmanager',
  path: 'usr/bin/amtool',
  standsAlone: true,
})
const why = 'missing' in amtool ? ` (skipped: ${amtool.missing})` : ''

test('the address of the webhook is written where Alertmanager reads it, and leads to the gateway', async () => {
  const { command, volumes } = composition.services.alertmanager!
  const [script] = command!
  const [printing, rest] = script!.split(' > ')
  const [receiver] = parse(readFileSync(file, 'utf8')).receivers
  expect(rest).toMatch(new RegExp(`^${receiver.slack_configs[0].api_url_file} && exec /bin/alertmanager `))
  expect(volumes).toContain('./deploy/observability/alertmanager.yaml:/etc/alertmanager/alertmanager.yml:ro')
  const env = { ALERTS_WEBHOOK_URL: 'https://chat.example.com/hooks/id/secret' }
  const { stdout } = await run('/bin/sh', ['-c', printing!], { env })
  expect(stdout).toBe('http://gateway:3000/hooks/id/secret')
})

test('Prometheus sends alerts to it', () => {
  const { alerting } = parse(readFileSync(path.join(root, 'deploy/observability/prometheus.yaml'), 'utf8'))
  expect(alerting.alertmanagers).toEqual([{ static_configs: [{ targets: ['alertmanager:9093'] }] }])
})

test.skipIf(why)(`Alertmanager itself accepts its configuration${why}`, async () => {
  const { command, env } = amtool as Extract<typeof amtool, { command: string }>
  const { stdout } = await run(command, ['check-config', file], { env })
  expect(stdout).toContain('SUCCESS')
})
