import type { Config } from '@parley/config'

/** The text after a start: the address, the way to sign in, and commands to paste. */
export function greeting(config: Config, address: string): string {
  const { authMode } = config.auth
  const { email } = config.chat.initialUser
  return [
    '',
    `Parley is ready at ${address}`,
    '',
    `  Sign in as   ${email}  (${howToSignIn[authMode]})`,
    `  API          ${address}/docs`,
    `  Data         ${config.dataDir}`,
    '',
    ...(authMode === 'magic-link' ? [] : ['Try it:', '', ...commands(config, address), '']),
    'Stop with Ctrl-C.',
    '',
  ].join('\n')
}

const howToSignIn: Record<Config['auth']['authMode'], string> = {
  dev: 'dev mode: this machine only, without a password',
  password: 'with the initial password, or your new one',
  'magic-link': 'with the link in the mail to you',
}

function commands({ auth, chat }: Config, address: string): string[] {
  const { email } = chat.initialUser
  const [path, credentials, field] =
    auth.authMode === 'dev'
      ? ['dev-login', `{"email":"${email}"}`, 'token']
      : ['password-login', `{"email":"${email}","password":"…"}`, 'accessToken']
  const json = `-H 'Content-Type: application/json'`
  const cut = (name: string) => `sed 's/.*"${name}":"\\([^"]*\\)".*/\\1/'`
  return [
    `  TOKEN=$(curl -s ${address}/auth/${path} ${json} -d '${credentials}' | ${cut(field!)})`,
    // The token is in the header, because logs, shell histories and process lists contain URLs.
    `  curl -N ${address}/events -H "Authorization: Bearer $TOKEN" &`,
    `  CHANNEL=$(curl -s ${address}/channels -H "Authorization: Bearer $TOKEN" | ${cut('id')})`,
    `  curl ${address}/channels/$CHANNEL/messages -H "Authorization: Bearer $TOKEN" ${json} -d '{"content":"Hello"}'`,
  ]
}
