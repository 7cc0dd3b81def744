import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { argumentsOf, findSentences, returnsOf } from './server-sentences.ts'
import { child, children, type Node, nameOf, root } from './sources.ts'

/** Code whose sentences are never shown by the web client. */
const elsewhere: Record<string, string> = {
  'libs/service/src/http-server.ts': 'requests that no browser sends',
  'services/auth/src/oauth/backchannel-logout.routes.ts': 'requests of sign-in providers',
  'services/directory/src/scim/': 'requests of directories',
  'services/gateway/src/edge/documentation.ts': 'the documentation of the API',
  'services/integrations/src/slack-api/': 'programs that use the API of Slack',
  'services/messaging/src/app-posts/': 'posts of apps',
  'services/messaging/src/webhook-posts/': 'posts of webhooks',
  'services/realtime/src/': 'event streams, which the client opens again by itself, and consumers of bots',
}

/** Where an error gets a sentence that was written elsewhere. */
const passedOn: Record<string, string> = {
  'libs/client/src/requests/request-failed.ts': 'the response of a server',
  'libs/service/src/responses.ts': 'the sentences of `explain`, and those of Fastify',
  'services/auth/src/password/password-change.routes.ts': '`refusal`',
  'services/auth/src/second-factors/confirmations.ts': '`refusal`',
  'services/auth/src/second-factors/mfa.routes.ts': '`refusal`',
  'services/auth/src/second-factors/totp.routes.ts': '`refusal`',
  'services/auth/src/single-sign-on/sign-in-state.ts': 'a sentence of `SignInFailure`',
  'services/integrations/src/call-services.ts': 'the response of another service',
  'services/integrations/src/commands/run-command.routes.ts':
    'the answers of commands, and the refusals of their requests',
  'services/messaging/src/message-body.ts': 'refused blocks, which only programs post',
}

/** What becomes a sentence besides the messages of `ApiError`. */
const furtherSinks = (all: (type: string) => Node[]): Node[] => [
  // The client throws the response of a server, or a sentence of its own.
  ...argumentsOf(all, 'RequestFailed', 1).filter(({ module }) => module.file.startsWith('libs/client/')),
  // Added to the address when a sign-in through a provider has failed.
  ...argumentsOf(all, 'Error', 0).filter(({ module }) => module.file.endsWith('/sign-in-failure.ts')),
  // Answers and descriptions of the server's own commands.
  ...argumentsOf(all, 'CommandRefused', 0),
  ...all('Property')
    .filter(({ key, module }) => module.file.endsWith('/commands/built-in.ts') && nameOf(key as Node) === 'run')
    .flatMap((each) => returnsOf(child(each, 'value')!)),
  ...all('Property')
    .filter((each) => each.parent!.type === 'ObjectExpression' && nameOf(child(each, 'key')) === 'description')
    .filter(({ module }) => module.file.endsWith('/commands/built-in.ts'))
    .map((each) => child(each, 'value')!),
  ...all('CallExpression')
    .filter((call) => nameOf(child(child(call, 'callee')!, 'property')) === 'sendText')
    .map((call) => children(call, 'arguments')[1]!),
  // Thrown after a transaction.
  ...all('Property')
    .filter((each) => nameOf(child(each, 'key')) === 'refusal' && each.parent!.type === 'ObjectExpression')
    .filter(({ module }) => module.file.startsWith('services/auth/'))
    .map((each) => child(each, 'value')!),
  // Made from the schema of a route.
  ...all('FunctionDeclaration')
    .filter(({ id, module }) => module.file === 'libs/service/src/validation.ts' && nameOf(id as Node) === 'explain')
    .flatMap(returnsOf),
]

const found = findSentences(['libs/*/src/**/*.ts', 'services/*/src/**/*.ts'], furtherSinks)
const shown = found.filter(
  ({ files }) => !files.some((file) => Object.keys(elsewhere).some((it) => file.startsWith(it))),
)
const sentences = new Set(shown.map(({ sentence }) => sentence).filter((sentence) => sentence !== '{0}'))

const read = (file: string) =>
  JSON.parse(readFileSync(path.join(root, 'services/web/page/texts', file), 'utf8')) as Record<string, string>

test('the sentences of the services are found', () => {
  expect(sentences.size).toBeGreaterThan(240)
  expect(sentences).toContain('Please sign in')
  expect(sentences).toContain('There is no such channel')
  expect(sentences).toContain('There is a command /{0} already')
  expect(sentences).toContain('{0} is longer than {1} characters')
})

test('every error whose sentence is written elsewhere is listed here', () => {
  const files = shown.filter(({ sentence }) => sentence === '{0}').map(({ files }) => files.at(-1)!)
  expect([...new Set(files)].sort()).toEqual(Object.keys(passedOn).sort())
})

test('the sign-in page knows the sentences of all failed sign-ins through providers', () => {
  const page = readFileSync(path.join(root, 'services/web/page/sign-in/provider-refusals.ts'), 'utf8')
  const failures = found.filter(({ files }) => files.at(-1)!.endsWith('/sign-in-failure.ts'))
  const limits = found.filter(({ files }) => files.at(-1)!.endsWith('/edge/rate-limit.ts'))
  const needed = [...failures, ...limits].map(({ sentence }) => sentence)
  expect(needed.length).toBeGreaterThan(12)
  expect(needed.filter((sentence) => !page.includes(`'${sentence}'`))).toEqual([])
})

describe.each(['de', 'ar'])('the sentences in %s', (language) => {
  const translations = read(`server/${language}.json`)
  const isField = (key: string) => /^\w+$/.test(key)

  test('are complete', () => {
    expect([...sentences].filter((sentence) => !translations[sentence]).sort()).toEqual([])
  })

  test('exist in a service', () => {
    expect(Object.keys(translations).filter((key) => !isField(key) && !sentences.has(key))).toEqual([])
  })

  test('are in alphabetical order', () => {
    expect(Object.keys(translations)).toEqual(Object.keys(translations).sort())
  })

  test('have only values that the English sentence has', () => {
    const valuesOf = (text: string) => [...text.matchAll(/\{(\d)/g)].map(([, value]) => value!)
    const wrong = Object.entries(translations).filter(([english, text]) =>
      valuesOf(text).some((value) => !valuesOf(english).includes(value)),
    )
    expect(wrong).toEqual([])
  })

  test('do not change a text of the page', () => {
    const texts = read(`${language}.json`)
    expect(
      Object.keys(translations).filter((key) => texts[key] !== undefined && texts[key] !== translations[key]),
    ).toEqual([])
  })
})
