import type { MailTexts, NoticeTexts } from './en.ts'

export const arabic: MailTexts = {
  somebody: 'شخص ما',
  unknown: 'غير معروف',
  orOpen: 'أو افتح هذا العنوان:',

  magicLink: (minutes) => ({
    subject: 'رابط تسجيل الدخول',
    opening: 'استخدم هذا الرابط لتسجيل الدخول:',
    action: 'تسجيل الدخول',
    closing: `يعمل مرة واحدة، خلال ${counted(minutes, { one: 'دقيقة', two: 'دقيقتين', few: 'دقائق', many: 'دقيقة', other: 'دقيقة' })}. إذا لم تطلبه، فلا حاجة إلى فعل شيء.`,
  }),
  invitation: ({ server, inviter, setsPassword }) => ({
    subject: `أنت مدعو إلى ${isolated(server)}`,
    opening: `أضافك ${isolated(inviter)} إلى ${isolated(server)}. ${setsPassword ? 'اختر كلمة مرور لتسجيل الدخول' : 'استخدم هذا الرابط لتسجيل الدخول'}:`,
    action: setsPassword ? 'اختيار كلمة مرور' : 'تسجيل الدخول',
    closing: `يعمل الرابط مرة واحدة، خلال 7 أيام.${setsPassword ? '' : ' ويمكنك لاحقًا أن تطلب رابطًا جديدًا بعنوان بريدك الإلكتروني.'}`,
  }),
  reset: (server) => ({
    subject: `كلمة مرورك على ${isolated(server)}`,
    opening: `يريد شخص ما، وهو أنت على الأرجح، اختيار كلمة مرور جديدة على ${isolated(server)}:`,
    action: 'اختيار كلمة مرور جديدة',
    closing: 'يعمل الرابط مرة واحدة، خلال ساعة، ويسجّل خروجك من كل الأجهزة الأخرى. إذا لم تطلبه، فلا حاجة إلى فعل شيء.',
  }),

  notices: {
    'new device': (server) => ({
      subject: `تسجيل دخول جديد إلى ${isolated(server)}`,
      sentence: `سجّل شخص ما الدخول إلى حسابك على ${isolated(server)} من جهاز لم يُستخدم له من قبل.`,
    }),
    'password changed': (server) => ({
      subject: `تغيّرت كلمة مرورك على ${isolated(server)}`,
      sentence: `تم تغيير كلمة مرور حسابك على ${isolated(server)}.`,
    }),
    'authenticator app added': (server) => factor(server, `أُضيف تطبيق مصادقة إلى حسابك على ${isolated(server)}.`),
    'authenticator app removed': (server) => factor(server, `أُزيل تطبيق المصادقة من حسابك على ${isolated(server)}.`),
    'passkey added': (server) => factor(server, `أُضيف مفتاح مرور إلى حسابك على ${isolated(server)}.`),
    'passkey removed': (server) => factor(server, `أُزيل مفتاح مرور من حسابك على ${isolated(server)}.`),
    'recovery code used': (server) =>
      factor(server, `استُخدم رمز استرداد لتسجيل الدخول إلى حسابك على ${isolated(server)}.`),
    'second factors removed': (server) =>
      factor(server, `أزال مسؤول كل عوامل المصادقة الثانية من حسابك على ${isolated(server)}.`),
  },
  hello: (userName) => `مرحبًا ${isolated(userName)}،`,
  origin: ({ time, address, program }) =>
    `الوقت: ${isolated(time)}\nالعنوان: ${isolated(address)}\nالبرنامج: ${isolated(program)}`,
  ifNotYou: (appUrl) =>
    `إذا كنت أنت من فعل ذلك، فلا حاجة إلى فعل شيء. وإلا فافتح ${appUrl} الآن، وغيّر كلمة مرورك، وأنهِ الجلسات الأخرى هناك. إذا تعذر عليك تسجيل الدخول، فاسأل أحد المسؤولين.`,

  missedMessages: {
    subject: (count, server) => `${unread(count)} على ${isolated(server)}`,
    greeting: (userName, count, server) =>
      `مرحبًا ${isolated(userName)}، لديك ${unread(count)} على ${isolated(server)}.`,
    wroteToYou: (author) => `كتب إليك ${isolated(author)}`,
    mentioned: ({ author, whom, channel, isThread }) =>
      `${whom === null ? `ذكرك ${isolated(author)}` : `ذكر ${isolated(author)} ${isolated(whom)}`} في ${isThread ? 'سلسلة ردود من ' : ''}${isolated(channel)}`,
    files: (count) => counted(count, { one: 'ملف واحد', two: 'ملفان', few: 'ملفات', many: 'ملفًا', other: 'ملف' }),
    more: (count) =>
      `و${counted(count, { one: 'رسالة أخرى', two: 'رسالتان أخريان', few: 'رسائل أخرى', many: 'رسالة أخرى', other: 'رسالة أخرى' })}.`,
    reason:
      'تصلك هذه الرسائل عندما لا يكون Parley مفتوحًا لديك في أي مكان. وهي عن الرسائل المباشرة والإشارات إليك. يمكنك إيقافها في تفضيلاتك:',
  },

  pausedSubscription: ({ url, reason }) => ({
    subject: 'أُوقف اشتراك في الأحداث مؤقتًا',
    text:
      `لم يعد Parley يرسل الأحداث إلى ${url}. السبب بالإنجليزية: ${isolated(`${reason}.`)}\n\n` +
      'يُرجى إصلاح المستقبِل ثم متابعة الاشتراك. ستصله الأحداث التي فاتته إن كانت ما زالت محفوظة.\n',
  }),
}

/** Characters around a name or an address, so that its direction does not change the order of the sentence. */
const isolated = (text: string) => `\u2068${text}\u2069`

const plurals = new Intl.PluralRules('ar')

/** The words for a number of things. The words for one and for two contain the number. */
function counted(
  count: number,
  { one, two, few, many, other }: Record<'one' | 'two' | 'few' | 'many' | 'other', string>,
): string {
  const form = plurals.select(count)
  if (form === 'one') return one
  if (form === 'two') return two
  return `${count} ${{ zero: other, few, many, other }[form]}`
}

const unread = (count: number) =>
  counted(count, {
    one: 'رسالة غير مقروءة',
    two: 'رسالتان غير مقروءتان',
    few: 'رسائل غير مقروءة',
    many: 'رسالة غير مقروءة',
    other: 'رسالة غير مقروءة',
  })

const factor = (server: string, sentence: string): NoticeTexts => ({
  subject: `عامل المصادقة الثاني لحسابك على ${isolated(server)}`,
  sentence,
})
