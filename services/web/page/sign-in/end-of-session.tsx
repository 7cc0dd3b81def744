import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { serverText, t } from '../texts/texts.ts'

interface EndOfSessionProps {
  /** The person whose session has ended. */
  userId: string
  /** It says that the account is deactivated, if the server has told this tab so. */
  sentence: string | undefined
}

/**
 * Says that the session has ended, or that the account is deactivated. The server tells this only to the tab that has asked for a new token.
 * So the tabs ask each other.
 */
export function EndOfSession({ userId, sentence }: EndOfSessionProps) {
  const told = useSignal(sentence)
  useEffect(() => {
    const channel = new BroadcastChannel(`parley.end ${userId}`)
    channel.onmessage = ({ data }) => {
      if (typeof data === 'string') told.value = data
      else if (sentence !== undefined) channel.postMessage(sentence)
    }
    channel.postMessage(sentence)
    return () => channel.close()
  }, [])
  return (
    <p role="status">
      {told.value === undefined ? t('Your session has ended. Please sign in again') : serverText(told.value)}
    </p>
  )
}
