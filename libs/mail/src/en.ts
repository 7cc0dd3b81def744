/** The texts of the mails in English. `MailTexts` is their type, so every other language has the same texts. */
export const english = {
  somebody: 'Somebody',
  unknown: 'unknown',
  /** Before the address of a button. */
  orOpen: 'Or open this address:',

  magicLink: (minutes: number): LinkTexts => ({
    subject: 'Your sign-in link',
    opening: 'Use this link to sign in:',
    action: 'Sign in',
    closing: `It works once, within ${minutes === 1 ? 'a minute' : `${minutes} minutes`}. If you did not ask for it, nothing needs to be done.`,
  }),
  invitation: ({ server, inviter, setsPassword }: Invitation): LinkTexts => ({
    subject: `You are invited to ${server}`,
    opening: `${inviter} has added you to ${server}. ${setsPassword ? 'Choose a password to sign in' : 'Use this link to sign in'}:`,
    action: setsPassword ? 'Choose a password' : 'Sign in',
    closing: `The link works once, within 7 days.${setsPassword ? '' : ' Later you can ask for a new link with your e-mail address.'}`,
  }),
  reset: (server: string): LinkTexts => ({
    subject: `Your password for ${server}`,
    opening: `Somebody, probably you, wants to choose a new password for ${server}:`,
    action: 'Choose a new password',
    closing:
      'The link works once, within an hour, and signs you out everywhere else. If you did not ask for it, nothing needs to be done.',
  }),

  notices: {
    'new device': (server: string): NoticeTexts => ({
      subject: `New sign-in to ${server}`,
      sentence: `Somebody has signed in to your account on ${server} from a device that was not used for it before.`,
    }),
    'password changed': (server: string): NoticeTexts => ({
      subject: `Your password for ${server} was changed`,
      sentence: `The password of your account on ${server} was changed.`,
    }),
    'authenticator app added': (server: string) => factor(server, 'An authenticator app was added to'),
    'authenticator app removed': (server: string) => factor(server, 'The authenticator app was removed from'),
    'passkey added': (server: string) => factor(server, 'A passkey was added to'),
    'passkey removed': (server: string) => factor(server, 'A passkey was removed from'),
    'recovery code used': (server: string) => factor(server, 'A recovery code was used to sign in to'),
    'second factors removed': (server: string) => factor(server, 'An admin removed all second factors from'),
  },
  hello: (userName: string) => `Hello ${userName},`,
  origin: ({ time, address, program }: Origin) => `Time: ${time}\nAddress: ${address}\nProgram: ${program}`,
  ifNotYou: (appUrl: string) =>
    `If this was you, nothing needs to be done. If not, open ${appUrl} now, change your password, and end the other sessions there. If you cannot sign in, ask an admin.`,

  missedMessages: {
    subject: (count: number, server: string) => `${unread(count)} on ${server}`,
    greeting: (userName: string, count: number, server: string) =>
      `Hello ${userName}, you have ${count === 1 ? 'an unread message' : unread(count)} on ${server}.`,
    wroteToYou: (author: string) => `${author} wrote to you`,
    /** `whom`: the handle of a group with its `@`, or null when the message mentions the person. */
    mentioned: ({ author, whom, channel, isThread }: Mention) =>
      `${author} mentioned ${whom ?? 'you'} in ${isThread ? 'a thread of ' : ''}${channel}`,
    files: (count: number) => (count === 1 ? '1 file' : `${count} files`),
    more: (count: number) => `And ${count} more.`,
    reason:
      'You get these mails when no client is open for you. They are about direct messages and mentions. You can switch them off in your preferences:',
  },

  pausedSubscription: ({ url, reason }: PausedSubscription) => ({
    subject: 'An event subscription is paused',
    text:
      `Parley no longer sends events to ${url}. ${reason}.\n\n` +
      'Please repair the receiver and then continue the subscription. It will get the events that it missed, if they are still stored.\n',
  }),
}

export type MailTexts = typeof english

const unread = (count: number) => `${count} unread messages`

const factor = (server: string, what: string): NoticeTexts => ({
  subject: `Your second factor for ${server}`,
  sentence: `${what} your account on ${server}.`,
})

/** A mail that consists of a link and of a sentence before and after it. */
export interface LinkTexts {
  subject: string
  opening: string
  /** The purpose of the link, in one or two words. */
  action: string
  closing: string
}

export interface Invitation {
  /** Name of the server. */
  server: string
  /** Name of the person who added them. */
  inviter: string
  /** Whether the person must choose a password after following the link. Otherwise the link signs in. */
  setsPassword: boolean
}

/** A mail about a change of the person's account, so that they notice when somebody else made it. */
export interface NoticeTexts {
  subject: string
  sentence: string
}

/** Where a change of an account came from. */
interface Origin {
  time: string
  address: string
  program: string
}

interface Mention {
  author: string
  whom: string | null
  /** With its `#`. */
  channel: string
  isThread: boolean
}

interface PausedSubscription {
  url: string
  reason: string
}
