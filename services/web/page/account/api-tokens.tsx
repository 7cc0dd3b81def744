import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { allScopes, Tokens } from '../tokens/tokens.tsx'
import { useConfirmation } from './confirmation.tsx'

/** The API tokens of the signed-in person, for programs that act for them. */
export function ApiTokens({ workspace: { client, me } }: { workspace: Workspace }) {
  const { confirmed, dialog } = useConfirmation()
  return (
    <>
      <p>
        {t(
          'A program with a token acts in your name, without your password. Give each program its own token, with only the rights that it needs.',
        )}
      </p>
      <Tokens
        scopes={me.value.isAdmin ? allScopes : allScopes.filter((scope) => scope !== 'admin')}
        list={() => client.request('GET /auth/tokens')}
        create={(token) => confirmed((proof) => client.request('POST /auth/tokens', { body: { ...token, ...proof } }))}
        remove={(tokenId) => client.request('DELETE /auth/tokens/:tokenId', { params: { tokenId } })}
      />
      {dialog}
    </>
  )
}
